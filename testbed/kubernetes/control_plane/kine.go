package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/k3s-io/kine/pkg/drivers"
	"github.com/k3s-io/kine/pkg/drivers/sqlite"
	"github.com/k3s-io/kine/pkg/server"
	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// serveKine runs kine on SQLite with its default settings, which are those of k3s. kine's own command would also link
// its drivers of other databases.
func serveKine() int {
	flags := flag.NewFlagSet("kine", flag.ExitOnError)
	directory := flags.String("data-dir", "", "where it keeps its data")
	client := flags.String("client-url", "http://127.0.0.1:2379", "where it serves")
	_ = flags.Parse(os.Args[1:])
	if err := serveSQLite(*directory, addresses(*client)[0].Host); err != nil {
		fmt.Fprintf(os.Stderr, "kine failed: %v\n", err)
		return 1
	}
	return 0
}

func serveSQLite(directory, address string) error {
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	file := filepath.Join(directory, "state.db")
	if err := keepMigrationFromReading(file); err != nil {
		return err
	}
	running := &sync.WaitGroup{}
	_, backend, err := sqlite.New(ended, running, &drivers.Config{
		DataSourceName:   file + "?" + sqlite.DefaultParams,
		CompactTimeout:   5 * time.Second,
		CompactMinRetain: 1000,
		CompactBatchSize: 1000,
		PollBatchSize:    500,
	})
	if err != nil {
		return err
	}
	if err := backend.Start(ended); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	store := grpc.NewServer(
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: embed.DefaultGRPCKeepAliveMinTime}),
		grpc.MaxConcurrentStreams(embed.DefaultMaxConcurrentStreams),
		grpc.MaxRecvMsgSize(embed.DefaultMaxRequestBytes+512<<10),
		grpc.MaxSendMsgSize(math.MaxInt32),
	)
	server.New(backend, "http", 5*time.Second, "3.6.11").Register(store)
	context.AfterFunc(ended, store.Stop)
	err = store.Serve(listener)
	running.Wait()
	return err
}

// keepMigrationFromReading gives a database a table of kine's first versions with a row that is not migrated. Without
// such a row, kine 0.16.3 counts the rows of its table and never reads the count. SQLite in Go, unlike that in C, has
// then begun to read, and this transaction keeps the log from ever being written into the database.
func keepMigrationFromReading(file string) error {
	database, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer database.Close()
	_, err = database.Exec("CREATE VIEW IF NOT EXISTS key_value AS SELECT NULL AS id, NULL AS name, NULL AS value, 0 AS ttl")
	return err
}
