package hosting

import (
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	connections   = 4  // to each server
	callsPerRound = 25 // on each connection
)

// The servers are called in turn, in rounds of some milliseconds, so that other load of the machine
// affects all alike. The results are the median of the time per call, its 99th percentile, and the
// ratio of hosting's time per call to that of each other server.
func BenchmarkValidating(b *testing.B) {
	compare(b,
		contestant{"hosting", startHosting, "/judge"},
		contestant{"net/http", startNetHTTP, "/judge"},
		contestant{"controller-runtime", startControllerRuntime, "/judge"},
	)
}

func BenchmarkMutating(b *testing.B) {
	compare(b,
		contestant{"hosting", startHosting, "/change"},
		contestant{"net/http", startNetHTTP, "/change"},
		contestant{"controller-runtime", startControllerRuntime, "/change"},
		contestant{"net/http-by-hand", startNetHTTP, "/change-by-hand"},
	)
}

type contestant struct {
	name  string
	start server
	path  string
}

func TestMain(m *testing.M) {
	log.SetLogger(klog.Background())
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	if err := flags.Set("stderrthreshold", "FATAL"); err != nil {
		panic(err)
	}
	if err := flags.Set("logtostderr", "false"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func compare(b *testing.B, servers ...contestant) {
	body, err := os.ReadFile("testdata/pod-create.json")
	if err != nil {
		b.Fatal(err)
	}
	clients := make([][]*client, len(servers))
	for i, s := range servers {
		host := fmt.Sprintf("127.90.%d.%d", os.Getpid()%250+1, i+1)
		certs, roots := writeCertificate(b, host)
		s.start(b, host, certs)
		for range connections {
			clients[i] = append(clients[i], dial(b, host, s.path, roots, body))
		}
		wantAllowed(b, s.name, clients[i][0])
	}

	rounds := make([][]time.Duration, len(servers))
	calls := make([][]time.Duration, len(servers))
	for b.Loop() {
		for i := range servers {
			began := time.Now()
			calls[i] = append(calls[i], round(b, clients[i])...)
			rounds[i] = append(rounds[i], time.Since(began))
		}
	}
	perCall := make([]float64, len(servers))
	for i, s := range servers {
		perCall[i] = float64(quantile(rounds[i], 50).Microseconds()) / (connections * callsPerRound)
		b.ReportMetric(perCall[i], "µs/call:"+s.name)
		b.ReportMetric(float64(quantile(calls[i], 99).Microseconds()), "µs-p99:"+s.name)
	}
	for i, s := range servers[1:] {
		b.ReportMetric(perCall[0]/perCall[i+1], "ratio:"+s.name)
	}
	b.ReportMetric(0, "ns/op") // not meaningful for several servers
}

func round(b *testing.B, clients []*client) []time.Duration {
	took := make([]time.Duration, len(clients)*callsPerRound)
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() {
			for j := range callsPerRound {
				began := time.Now()
				if _, err := c.call(); err != nil {
					b.Error(err)
					return
				}
				took[i*callsPerRound+j] = time.Since(began)
			}
		})
	}
	all.Wait()
	return took
}

func quantile(values []time.Duration, percent int) time.Duration {
	slices.Sort(values)
	return values[(len(values)-1)*percent/100]
}

func wantAllowed(b *testing.B, server string, c *client) {
	b.Helper()
	answer, err := c.call()
	if err != nil {
		b.Fatalf("%s: %v", server, err)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil || review.Response == nil || !review.Response.Allowed {
		b.Fatalf("%s answered %s: %v", server, answer, err)
	}
}

func writeCertificate(b *testing.B, host string) (dir string, roots *x509.CertPool) {
	b.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	dir = b.TempDir()
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	return dir, roots
}
