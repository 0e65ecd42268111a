// A workspace on loopback: the test server of the Databricks CLI as a process.
//
// It is built within the source of that command line, see tests/kit/vendor_cli.py. It prints its URL, then a line of
// JSON for each request but those of files, and ends with its standard input.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/databricks/cli/libs/testserver"
)

// process takes the place of a Go test: what a test would report goes to standard error.
type process struct {
	cleanups []func()
}

func (p *process) Log(args ...any)                   { fmt.Fprintln(os.Stderr, args...) }
func (p *process) Logf(format string, args ...any)   { fmt.Fprintf(os.Stderr, format+"\n", args...) }
func (p *process) Error(args ...any)                 { p.Log(append([]any{"ERROR"}, args...)...) }
func (p *process) Errorf(format string, args ...any) { p.Logf("ERROR "+format, args...) }
func (p *process) Fatal(args ...any)                 { p.Error(args...); os.Exit(1) }
func (p *process) Fatalf(format string, args ...any) { p.Errorf(format, args...); os.Exit(1) }
func (p *process) Skip(args ...any)                  {}
func (p *process) Skipf(format string, args ...any)  {}
func (p *process) FailNow()                          { os.Exit(1) }
func (p *process) Cleanup(f func())                  { p.cleanups = append(p.cleanups, f) }
func (p *process) Context() context.Context          { return context.Background() }
func (p *process) Setenv(key, value string)          { _ = os.Setenv(key, value) }
func (p *process) TempDir() string                   { return os.TempDir() }
func (p *process) Helper()                           {}

func main() {
	p := &process{}
	server := testserver.New(p)
	testserver.AddDefaultHandlers(server)
	var mu sync.Mutex
	lines := json.NewEncoder(os.Stdout)
	server.RequestCallback = func(request *testserver.Request) {
		if strings.HasPrefix(request.URL.Path, "/api/2.0/workspace") {
			return // files
		}
		mu.Lock()
		defer mu.Unlock()
		_ = lines.Encode(map[string]string{
			"method": request.Method, "path": request.URL.Path, "body": string(request.Body),
		})
	}
	fmt.Println(server.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
	for _, cleanup := range p.cleanups {
		cleanup()
	}
}
