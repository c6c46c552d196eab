package integration

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/coexistence"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// While the lead changes, two managers may work at once. They reach the same state as one does, and then rest.
func TestTwoManagers(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	one, other := e.manage(), e.manage()
	e.install(bundle())
	one.looksAgain("operator.v1")
	other.looksAgain("operator.v1")
	isComplete(e, installed)
	mustTrust(e, e.servingCA())
	since := auditEnd(e)
	one.looksAgain("operator.v1")
	other.looksAgain("operator.v1")
	one.writesNothing(since)
	other.writesNothing(since)
	e.uninstall("operator.v1")
	leavesNothing(e)
}

// A manager of all namespaces knows that no client needs the label of a group that no longer exists,
// once no webhook selects by it: at once, where none ever did.
func TestLabelOfADeletedGroup(t *testing.T) {
	e := newEnv(t)
	group := e.group("og", namespaces(e.namespace))
	e.runDeployments()
	m := e.manage(func(o *controller.Options) { o.Namespaces = nil })
	alone := neighbour(e)
	unused := alone.group("og", namespaces(e.namespace))
	carriesLabel(e, unused, []string{e.namespace}, e.namespace)
	e.must(e.olm.OperatorGroups(alone.namespace).Delete(e.ctx, "og", metav1.DeleteOptions{}))
	carriesLabel(e, unused, nil, e.namespace)
	e.install(csv("operator.v1", "server"))
	e.must(e.olm.OperatorGroups(e.namespace).Delete(e.ctx, "og", metav1.DeleteOptions{}))
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonNoOperatorGroup)
	m.looksAgain("operator.v1")
	carriesLabel(e, group, []string{e.namespace}, e.namespace)
	e.uninstall("operator.v1")
	carriesLabel(e, group, nil, e.namespace)
}

// Two managers of the same ClusterServiceVersions would undo each other's work: next to
// an OLM v0 that watches the same namespaces, the manager does not start.
func TestRefuseNextToOLM(t *testing.T) {
	for name, test := range map[string]struct {
		args    []string // of OLM v0
		scaled  bool     // to zero
		ours    []string
		refused string // what both watch; empty when it may start
	}{
		"both watch everything":                {refused: "all namespaces"},
		"it watches everything, we one":        {ours: []string{"a"}, refused: "namespaces a"},
		"it watches one, we everything":        {args: []string{"--watchedNamespaces=a"}, refused: "namespaces a"},
		"both watch one":                       {args: []string{"--watchedNamespaces", "a,b"}, ours: []string{"b", "c"}, refused: "namespaces b"},
		"an empty flag is no limit":            {args: []string{"--watchedNamespaces="}, refused: "all namespaces"},
		"each watches its own":                 {args: []string{"-watchedNamespaces=a,b"}, ours: []string{"c"}},
		"it is scaled to zero":                 {scaled: true},
		"it is scaled to zero, and limited":    {scaled: true, args: []string{"--watchedNamespaces=a"}, ours: []string{"a"}},
		"another flag's value is not a limit":  {args: []string{"--namespace", "olm", "--writeStatusName="}, ours: []string{"olm"}, refused: "namespaces olm"},
		"a limit among other flags is a limit": {args: []string{"--debug", "--watchedNamespaces=a", "--tls-cert=/x"}, ours: []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			spec := deploymentSpec("olm-operator").Spec
			spec.Template.Spec.Containers = []corev1.Container{{
				Name: "olm-operator", Image: "example.com/olm:1", Command: []string{"/bin/olm"}, Args: test.args,
			}}
			if test.scaled {
				spec.Replicas = new(int32(0))
			}
			kube.CreateTemporary(e, e.kube.AppsV1().Deployments(e.namespace), &appsv1.Deployment{ObjectMeta: named("olm-operator"), Spec: spec})
			err := coexistence.RefuseOLM(e.ctx, e.kube, test.ours)
			switch {
			case test.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.refused != "" && (err == nil || !strings.Contains(err.Error(), e.namespace+"/olm-operator is an OLM v0 that watches "+test.refused+" too")):
				t.Errorf("error %v, want one that reports that both watch %s", err, test.refused)
			}
		})
	}
	t.Run("no OLM v0", func(t *testing.T) {
		e := newEnv(t)
		e.must(coexistence.RefuseOLM(e.ctx, e.kube, nil))
	})
}
