package campaign

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/etcd"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/world"
)

var (
	runs = flag.Int("runs", 6, "how many runs")
	seed = flag.Uint64("seed", 1, "the first seed")
	// Mutants need one violation.
	first = flag.Bool("first", false, "end after the first run with a violation")
	// Each try is up to three runs.
	tries = flag.Int("shrink", 0, "how many times to try to make a scenario with a violation simpler")
)

// root is the root of the repository.
const root = "../../.."

func TestMain(m *testing.M) {
	if os.Getenv("KLOG") == "" {
		klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	}
	os.Exit(m.Run())
}

// No run violates an invariant that it is not expected to violate, and each comes to its end.
func TestCampaign(t *testing.T) {
	start := world.Defined(t, root)
	began, all := time.Now(), totals{}
	for n := 0; n < *runs && (all.failed == 0 || !*first); n++ {
		s := Draw(*seed + uint64(n))
		result := bubble(t, start, s)
		text := complaints(s, result)
		if all.add(result, text != ""); text != "" {
			t.Errorf("%s", text)
			shrink(t, start, s, result)
		}
		fmt.Fprintf(os.Stderr, "\r%d of %d runs, %d with a violation, %v", n+1, *runs, all.failed, time.Since(began).Round(time.Second))
	}
	fmt.Fprintf(os.Stderr, "\n%s\n", &all)
}

// shrink prints the simplest scenario with one of the violations of a run. The order of goroutines differs between runs, so each scenario is
// tried three times.
func shrink(t *testing.T, start etcd.Snapshot, s Scenario, failed Result) {
	if *tries == 0 {
		return
	}
	var last string
	fails := func(simpler Scenario) bool {
		for range 3 {
			if result := bubble(t, start, simpler); result.resembles(failed) {
				last = complaints(simpler, result)
				return true
			}
		}
		return false
	}
	simplest := Shrink(s, failed.Failures, *tries, fails)
	text, err := json.MarshalIndent(simplest, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the simplest scenario that was found; as a test, add it to testdata:\n%s\n%s", last, text)
}

// bubble carries out a scenario in virtual time.
func bubble(t *testing.T, start etcd.Snapshot, s Scenario) (result Result) {
	synctest.Test(t, func(t *testing.T) { result = Run(t.Context(), start, s) })
	return result
}
