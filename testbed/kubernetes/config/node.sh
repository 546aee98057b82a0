# Starts containerd and kubelet of a node, in its own namespaces: DIRECTORY NODE CONTAINERD PROGRAM KUBECONFIG ADDRESS.
cd "$1"
mount --bind lib /var/lib
mount --bind log /var/log
mount -t tmpfs tmpfs /run
mkdir /run/netns
hostname "$2"
"$3" --config containerd.toml >containerd.log 2>&1 &
until [ -e "$5" ]; do sleep 0.1; done
"$4" kubelet --config kubelet.yaml --kubeconfig "$5" --hostname-override "$2" --node-ip "$6" >kubelet.log 2>&1 &
wait
