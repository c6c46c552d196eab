package csvmetrics

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func csvIn(phase operatorsv1alpha1.ClusterServiceVersionPhase, reason operatorsv1alpha1.ConditionReason, name string) *operatorsv1alpha1.ClusterServiceVersion {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	csv.Status.Phase, csv.Status.Reason = phase, reason
	return csv
}

// running exports the metrics of ClusterServiceVersions as the leader does.
func running(t *testing.T, csvs ...*operatorsv1alpha1.ClusterServiceVersion) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewRegistry()
	m := Register(registry, func() []*operatorsv1alpha1.ClusterServiceVersion { return csvs })
	installtest.None(t, "series of a standby", seriesOf(t, registry, "csv_count"))
	m.leads.Store(true)
	return registry
}

// seriesOf returns the series of some metrics with their values, as Prometheus writes them.
func seriesOf(t *testing.T, registry *prometheus.Registry, metrics ...string) (all []string) {
	t.Helper()
	for _, family := range installtest.OrPanic(registry.Gather()) {
		if !slices.Contains(metrics, family.GetName()) {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
			}
			all = append(all, fmt.Sprintf("%s{%s} %v", family.GetName(), strings.Join(labels, ","), metric.GetGauge().GetValue()+metric.GetCounter().GetValue()))
		}
	}
	return all
}

func TestSeries(t *testing.T) {
	succeeded := csvIn(operatorsv1alpha1.CSVPhaseSucceeded, operatorsv1alpha1.CSVReasonInstallSuccessful, "shop.v2")
	succeeded.Spec.Version.Version = semver.MustParse("2.0.0-rc.1+build")
	registry := running(t, succeeded, csvIn(operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting, "till.v1"))
	installtest.Same(t, "series", []string{
		`csv_abnormal{name="till.v1",namespace="shop",phase="Installing",reason="InstallWaiting",version="0.0.0"} 1`,
		`csv_count{} 2`,
		`csv_succeeded{name="shop.v2",namespace="shop",version="2.0.0-rc.1+build"} 1`,
		`csv_succeeded{name="till.v1",namespace="shop",version="0.0.0"} 0`,
		`csv_upgrade_count{} 0`,
	}, seriesOf(t, registry, "csv_abnormal", "csv_count", "csv_succeeded", "csv_upgrade_count"))
}

// The tests of OLM's alerts have the series of this package as their input.
func TestSeriesOfTheAlerts(t *testing.T) {
	failed := csvIn(operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInstallCheckFailed, "failed.v1")
	failed.Spec.Version.Version = semver.MustParse("1.2.3")
	registry := running(t, failed,
		csvIn(operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet, "pending.v1"),
		csvIn(operatorsv1alpha1.CSVPhaseReplacing, operatorsv1alpha1.CSVReasonBeingReplaced, "replaced.v1"))
	exported := strings.Join(seriesOf(t, registry, "csv_abnormal", "csv_succeeded"), "\n")
	var file struct {
		Tests []struct {
			InputSeries []struct{ Series, Values string } `json:"input_series"`
		}
	}
	installtest.Must(t, yaml.Unmarshal(installtest.OrPanic(os.ReadFile("testdata/alerts_test.yaml")), &file))
	if len(file.Tests) == 0 {
		t.Fatal("the file has no tests")
	}
	for _, test := range file.Tests {
		for _, input := range test.InputSeries {
			value, _, _ := strings.Cut(input.Values, "x")
			installtest.Contains(t, exported, input.Series+" "+value)
		}
	}
}

func TestUpgradeBegins(t *testing.T) {
	const none, succeeded, failed, replacing, deleting = operatorsv1alpha1.CSVPhaseNone, operatorsv1alpha1.CSVPhaseSucceeded,
		operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVPhaseReplacing, operatorsv1alpha1.CSVPhaseDeleting
	for phases, want := range map[[2]operatorsv1alpha1.ClusterServiceVersionPhase]bool{
		{none, succeeded}: false, {succeeded, replacing}: true, {failed, replacing}: true, {replacing, replacing}: false, {replacing, deleting}: false,
	} {
		if got := upgradeBegins(csvIn(phases[0], "", "shop.v1"), csvIn(phases[1], "", "shop.v1")); got != want {
			t.Errorf("from %s to %s: an upgrade begins: %v, want %v", phases[0], phases[1], got, want)
		}
	}
}

// A manager that is not the leader any more exports nothing.
func TestOnlyTheLeaderExports(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := Register(registry, func() []*operatorsv1alpha1.ClusterServiceVersion { return nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Run(ctx)
	installtest.None(t, "series of a previous leader", seriesOf(t, registry, "csv_count"))
}
