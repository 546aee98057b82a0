package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/coredns/caddy"
	_ "github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

// serveNames runs CoreDNS with the few plugins that the names of Services need.
func serveNames() int {
	flags := flag.NewFlagSet("coredns", flag.ExitOnError)
	path := flags.String("conf", "Corefile", "what it serves")
	_ = flags.Parse(os.Args[1:])
	content, err := os.ReadFile(*path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	caddy.TrapSignals()
	instance, err := caddy.Start(caddy.CaddyfileInput{Contents: content, Filepath: *path, ServerTypeName: "dns"})
	if err != nil {
		fmt.Fprintf(os.Stderr, "coredns does not start: %v\n", err)
		return 1
	}
	instance.Wait()
	return 0
}
