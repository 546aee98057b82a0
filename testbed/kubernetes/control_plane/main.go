// One program that is each part of a Kubernetes cluster in turn: the test bed builds it once and starts it under
// the part's name, `program kube-apiserver --flag ...`, or through a link of that name.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var parts = map[string]func() int{
	"etcd":                    serveEtcd,
	"kine":                    serveKine,
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllers.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kubelet":                 func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
	"kubectl":                 runKubectl,
	"coredns":                 serveNames,
}

func main() {
	name := filepath.Base(os.Args[0])
	part, found := parts[name]
	if !found && len(os.Args) > 1 {
		name = os.Args[1]
		part, found = parts[name]
		os.Args = os.Args[1:]
	}
	if !found {
		names := make([]string, 0, len(parts))
		for each := range parts {
			names = append(names, each)
		}
		sort.Strings(names)
		fmt.Fprintf(os.Stderr, "expected the name of a part as the first argument: %s\n", strings.Join(names, ", "))
		os.Exit(2)
	}
	os.Exit(part())
}

func runKubectl() int {
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err) // says what is wrong and ends the program
	}
	return 0
}
