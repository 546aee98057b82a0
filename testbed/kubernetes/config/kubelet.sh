# Starts the kubelet of a running node again; the arguments are those of node.sh.
cd "$1"
exec "$4" kubelet --config kubelet.yaml --kubeconfig "$5" --hostname-override "$2" --node-ip "$6" >>kubelet.log 2>&1
