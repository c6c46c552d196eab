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

// The servers take turns, a round of a few milliseconds each: whatever else the machine
// does slows all of them alike. Every server's time per call is reported, and pkg/hosting's
// as a ratio to the others'.
func BenchmarkValidating(b *testing.B) { compare(b, "/judge") }
func BenchmarkMutating(b *testing.B)   { compare(b, "/change") }

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

func compare(b *testing.B, path string) {
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
			clients[i] = append(clients[i], dial(b, host, path, roots, body))
		}
		wantAllowed(b, s.name, clients[i][0])
	}

	took := make([][]time.Duration, len(servers))
	for b.Loop() {
		for i := range servers {
			began := time.Now()
			round(b, clients[i])
			took[i] = append(took[i], time.Since(began))
		}
	}
	median := make([]float64, len(servers))
	for i, s := range servers {
		slices.Sort(took[i])
		median[i] = float64(took[i][len(took[i])/2].Nanoseconds()) / (connections * callsPerRound)
		b.ReportMetric(median[i]/1000, "µs/call:"+s.name)
	}
	b.ReportMetric(0, "ns/op") // of three servers together: it says nothing
	b.ReportMetric(median[0]/median[1], "ratio:net/http")
	b.ReportMetric(median[0]/median[2], "ratio:controller-runtime")
}

// round makes calls on all connections side by side.
func round(b *testing.B, clients []*client) {
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			for range callsPerRound {
				if _, err := c.call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
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
