package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// serveEtcd runs etcd on the loopback device.
func serveEtcd() int {
	flags := flag.NewFlagSet("etcd", flag.ExitOnError)
	directory := flags.String("data-dir", "", "where it keeps its data")
	client := flags.String("client-url", "http://127.0.0.1:2379", "where it serves")
	peer := flags.String("peer-url", "http://127.0.0.1:2380", "where it would meet other members")
	unsafe := flags.Bool("unsafe-no-fsync", false, "do not wait for the disk")
	_ = flags.Parse(os.Args[1:])

	config := embed.NewConfig()
	config.Dir = *directory
	config.UnsafeNoFsync = *unsafe
	config.LogLevel = "error"
	config.ListenClientUrls = addresses(*client)
	config.AdvertiseClientUrls = addresses(*client)
	config.ListenPeerUrls = addresses(*peer)
	config.AdvertisePeerUrls = addresses(*peer)
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	store, err := embed.StartEtcd(config)
	if err != nil {
		fmt.Fprintf(os.Stderr, "etcd does not start: %v\n", err)
		return 1
	}
	defer store.Close()
	select {
	case <-store.Server.ReadyNotify():
	case <-time.After(60 * time.Second):
		fmt.Fprintln(os.Stderr, "etcd is not ready after 60 s")
		return 1
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-ended:
		return 0
	case err := <-store.Err():
		fmt.Fprintf(os.Stderr, "etcd failed: %v\n", err)
		return 1
	}
}

func addresses(text string) []url.URL {
	parsed, err := url.Parse(text)
	if err != nil {
		fmt.Fprintf(os.Stderr, "expected a URL, got %q: %v\n", text, err)
		os.Exit(2)
	}
	return []url.URL{*parsed}
}
