// Enforces NetworkPolicies on one node by the controller that k3s has in it: kube-router's, in k3s' own copy.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how the API server is reached")
	node := flag.String("node", "", "the node whose network namespace this is")
	services := flag.String("services", "10.96.0.0/16", "the addresses of Services")
	flag.Parse()
	if err := enforce(*kubeconfig, *node, *services); err != nil {
		fmt.Fprintf(os.Stderr, "network policies are not enforced on %s: %v\n", *node, err)
		os.Exit(1)
	}
}

func enforce(kubeconfig, node, services string) error {
	settings, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(settings)
	if err != nil {
		return err
	}
	wanted := options.NewKubeRouterConfig()
	wanted.EnableIPv4, wanted.HostnameOverride, wanted.ClusterIPCIDRs = true, node, []string{services}
	tables, sets, err := netpol.NewIPTablesHandlers(wanted)
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	shared := informers.NewSharedInformerFactory(client, 0)
	pods := shared.Core().V1().Pods().Informer()
	namespaces := shared.Core().V1().Namespaces().Informer()
	policies := shared.Networking().V1().NetworkPolicies().Informer()
	shared.Start(stop)
	shared.WaitForCacheSync(stop)
	controller, err := netpol.NewNetworkPolicyController(
		client, wanted, pods, policies, namespaces, &sync.Mutex{}, tables, sets)
	if err != nil {
		return err
	}
	handlers := map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		pods:       controller.PodEventHandler,
		namespaces: controller.NamespaceEventHandler,
		policies:   controller.NetworkPolicyEventHandler,
	}
	for informer, handler := range handlers {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	var running sync.WaitGroup
	running.Add(1)
	beats := make(chan *healthcheck.ControllerHeartbeat, 10)
	go func() {
		for range beats { // there is no health check: who waits for a rule sees it
		}
	}()
	go controller.Run(beats, stop, &running)
	<-ended
	close(stop)
	running.Wait()
	return nil
}
