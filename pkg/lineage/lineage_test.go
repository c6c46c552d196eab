package lineage

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// version is a ClusterServiceVersion, in a line such as "v3 replaces v2 skips v1 Failed".
func version(line string) *operatorsv1alpha1.ClusterServiceVersion {
	words := strings.Fields(line)
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: words[0]}}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "replaces":
			i++
			csv.Spec.Replaces = words[i]
		case "skips":
			i++
			csv.Spec.Skips = append(csv.Spec.Skips, words[i])
		case "took":
			i++
			csv.Annotations = map[string]string{"took": words[i]}
		case "copied":
			csv.Labels = map[string]string{operatorsv1alpha1.CopiedLabelKey: "elsewhere"}
		case "leaving":
			csv.DeletionTimestamp = new(metav1.Now())
		default:
			phase, reason, _ := strings.Cut(words[i], "/")
			csv.Status.Phase, csv.Status.Reason = operatorsv1alpha1.ClusterServiceVersionPhase(phase), operatorsv1alpha1.ConditionReason(reason)
		}
	}
	return csv
}

// of finds the relatives of the first of some versions.
func of(lines ...string) (*operatorsv1alpha1.ClusterServiceVersion, Lineage) {
	all := lists.Map(lines, version)
	return all[0], Of(all[0], namespaceWith(all))
}

func namespaceWith(all []*operatorsv1alpha1.ClusterServiceVersion) Namespace {
	return Namespace{
		Named: func(name string) *operatorsv1alpha1.ClusterServiceVersion {
			i := slices.IndexFunc(all, func(c *operatorsv1alpha1.ClusterServiceVersion) bool { return c.Name == name })
			if i < 0 {
				return nil
			}
			return all[i]
		},
		Replacing: func(name string) []*operatorsv1alpha1.ClusterServiceVersion {
			return lists.Filter(all, func(c *operatorsv1alpha1.ClusterServiceVersion) bool { return slices.Contains(Replaced(c), name) })
		},
		TookFrom: func(csv *operatorsv1alpha1.ClusterServiceVersion) []*operatorsv1alpha1.ClusterServiceVersion {
			return filter(all, func(other *operatorsv1alpha1.ClusterServiceVersion) bool {
				return slices.Contains(tookFrom(csv), other.Name)
			})
		},
		TakenBy: func(csv *operatorsv1alpha1.ClusterServiceVersion) []*operatorsv1alpha1.ClusterServiceVersion {
			return filter(all, func(other *operatorsv1alpha1.ClusterServiceVersion) bool {
				return slices.Contains(tookFrom(other), csv.Name)
			})
		},
	}
}

// tookFrom are the versions from which one has adopted a Deployment.
func tookFrom(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	return strings.Split(csv.Annotations["took"], ",")
}

func filter(all []*operatorsv1alpha1.ClusterServiceVersion, keep func(*operatorsv1alpha1.ClusterServiceVersion) bool) []*operatorsv1alpha1.ClusterServiceVersion {
	return slices.DeleteFunc(slices.Clone(all), func(c *operatorsv1alpha1.ClusterServiceVersion) bool { return !keep(c) })
}

func namesOf(csvs []*operatorsv1alpha1.ClusterServiceVersion) string {
	names := lists.Map(csvs, func(c *operatorsv1alpha1.ClusterServiceVersion) string { return c.Name })
	return strings.Join(names, " ")
}

func TestOf(t *testing.T) {
	tests := map[string]struct {
		versions     []string
		older, newer string
	}{
		"alone":                         {[]string{"v1", "w1"}, "", ""},
		"replaces a missing version":    {[]string{"v2 replaces v1"}, "", ""},
		"the newest of three":           {[]string{"v3 replaces v2", "v2 replaces v1", "v1"}, "v2 v1", ""},
		"the middle one":                {[]string{"v2 replaces v1", "v1", "v3 replaces v2"}, "v1", "v3"},
		"the eldest":                    {[]string{"v1", "v2 replaces v1", "v3 replaces v2"}, "", "v2 v3"},
		"skips one":                     {[]string{"v3 replaces v2 skips v1", "v1"}, "v1", ""},
		"is skipped":                    {[]string{"v1", "v3 replaces v2 skips v1"}, "", "v3"},
		"replaces itself":               {[]string{"v1 replaces v1"}, "", ""},
		"two that replace each other":   {[]string{"v1 replaces v2", "v2 replaces v1"}, "v2", "v2"},
		"a copy is no version":          {[]string{"v2 replaces v1", "v1 copied"}, "", ""},
		"took":                          {[]string{"v2 took v1", "v1 Replacing", "v2 copied replaces v1"}, "v1", ""},
		"took what another replaces":    {[]string{"w1 took v1", "v1 Replacing", "v2 replaces v1"}, "", ""},
		"took what its successor skips": {[]string{"v3 took v1", "v1 Replacing", "v4 replaces v3 skips v1"}, "v1", "v4"},
		"taken, and another replaces":   {[]string{"v1 Replacing", "w1 took v1", "v2 replaces v1"}, "", "v2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, l := of(test.versions...)
			installtest.Same(t, "older", test.older, namesOf(l.Older))
			installtest.Same(t, "newer", test.newer, namesOf(l.Newer))
			installtest.Same(t, "Alone", test.older == "" && test.newer == "", l.Alone())
		})
	}
}

// Another version may have begun to replace the same version, and is being deleted.
func TestSiblings(t *testing.T) {
	for name, test := range map[string]struct {
		versions []string
		want     string
	}{
		"alone":                           {[]string{"v1"}, ""},
		"a chain":                         {[]string{"v2 replaces v1", "v1", "v3 replaces v2"}, ""},
		"an undone upgrade":               {[]string{"v3 replaces v1", "v1", "v2 replaces v1 leaving"}, "v2"},
		"its previous version is deleted": {[]string{"v3 replaces v1", "v2 replaces v1 leaving"}, "v2"},
		"two undone upgrades":             {[]string{"v4 replaces v1", "v1", "v2 replaces v1 leaving", "v3 replaces v2 leaving"}, "v2 v3"},
		"an undone upgrade further away":  {[]string{"v4 replaces v3", "v3 replaces v1", "v1", "v2 replaces v1 leaving"}, "v2"},
		"a skipped version is older":      {[]string{"v3 replaces v1 skips v2", "v1", "v2 replaces v1"}, ""},
		"a newer version is none":         {[]string{"v2 replaces v1", "v1", "v3 replaces v2 skips v1"}, ""},
		"nor is a copy":                   {[]string{"v3 replaces v1", "v1", "v2 replaces v1 copied"}, ""},
		"nor another operator":            {[]string{"v2 replaces v1", "v1", "w2 replaces w1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := lists.Map(test.versions, version)
			in := namespaceWith(all)
			installtest.Same(t, "siblings", test.want, namesOf(Siblings(all[0], Of(all[0], in), in)))
		})
	}
}

// A version adopts from versions that are installed and know that they are replaced.
func TestOLMRegistrationIsAdopted(t *testing.T) {
	tests := map[string]struct {
		older     string
		notReady  string // beginning of
		announced bool
	}{
		"installed":                {"v1 Succeeded", "", false},
		"knows":                    {"v1 Replacing", "", true},
		"going":                    {"v1 Deleting", "", true},
		"leaving":                  {"v1 Installing leaving", "", true},
		"installing":               {"v1 Installing", "v1, which it replaces, is not installed yet", false},
		"pending":                  {"v1 Pending", "v1, which it replaces, is not installed yet", false},
		"not reconciled":           {"v1", "v1, which it replaces, is not installed yet", false},
		"failed":                   {"v1 Failed/InstallCheckFailed", "v1, which it replaces, has failed (InstallCheckFailed): repair or delete that one, or set spec.upgradeStrategy", false},
		"not the one it replaces":  {"v0 Failed", "", true},
		"skipped, and not ready":   {"v0.9 Installing", "v0.9, which it replaces, is not installed yet", false},
		"skipped, and knows of it": {"v0.9 Replacing", "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			csv, l := of("v2 replaces v1 skips v0.9", test.older)
			if got := NotReady(csv, l); !strings.HasPrefix(got, test.notReady) || got != "" && test.notReady == "" {
				t.Errorf("not ready: %q, want %q", got, test.notReady)
			}
			installtest.Same(t, "announced", test.announced, Announced(csv, l))
		})
	}
}

func TestBegan(t *testing.T) {
	for line, began := range map[string]bool{
		"v2": false, "v2 Pending/RequirementsUnknown": false, "v2 Pending/RequirementsNotMet": false,
		"v2 Failed/InvalidWebhookDescription": false, "v2 Pending/OperatorConditionNotUpgradeable": false,
		"v2 InstallReady": true, "v2 Installing": true, "v2 Succeeded": true, "v2 Replacing": true, "v2 Pending/NeedsReinstall": true,
		"v2 Failed/InstallComponentFailed": true, "v2 Failed/InstallCheckFailed": true, "v2 Failed/ComponentUnhealthy": true,
	} {
		installtest.Same(t, line+": began", began, Began(version(line)))
	}
}

func TestSuperseded(t *testing.T) {
	tests := map[string]struct {
		versions []string
		want     bool
	}{
		"not yet":                    {[]string{"v1", "v2 replaces v1 Installing"}, false},
		"by the next":                {[]string{"v1", "v2 replaces v1 Succeeded"}, true},
		"by the one after a failure": {[]string{"v1", "v2 replaces v1 Replacing", "v3 replaces v2 Succeeded"}, true},
		"by one that is on its way":  {[]string{"v1", "v2 replaces v1 Succeeded leaving"}, false},
		"by an older one never":      {[]string{"v2 replaces v1", "v1 Succeeded"}, false},
		"not replaced any more":      {[]string{"v1"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, l := of(test.versions...)
			installtest.Same(t, "superseded", test.want, l.Superseded())
		})
	}
}

func TestSuccessor(t *testing.T) {
	for name, test := range map[string]struct {
		versions  []string
		installed string
		successor string
	}{
		"the older one is leaving":         {[]string{"v2 replaces v1", "v1 leaving"}, "v1", ""},
		"the older one is installed":       {[]string{"v2 replaces v1", "v1"}, "v1", "v1"},
		"the older one was never":          {[]string{"v2 replaces v1", "v1"}, "", ""},
		"two are installed":                {[]string{"v3 replaces v2", "v2 replaces v1", "v1"}, "v1 v2", "v2"},
		"one between them was never":       {[]string{"v3 replaces v2", "v2 replaces v1", "v1"}, "v1", "v1"},
		"one between them is deleted":      {[]string{"v3 replaces v2 took v1", "v1"}, "v1", "v1"},
		"one that it does not replace now": {[]string{"v3 replaces v2", "v1"}, "v1", ""},
	} {
		_, l := of(test.versions...)
		got := ""
		installed := func(c *operatorsv1alpha1.ClusterServiceVersion) bool {
			return slices.Contains(strings.Fields(test.installed), c.Name)
		}
		if successor := l.Successor(installed); successor != nil {
			got = successor.Name
		}
		installtest.Same(t, name+": successor", test.successor, got)
	}
}
