package scale

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-framework/api/crds"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/copies/plan"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// copying is a measurement of copies. The operators are in its only Namespace.
type copying struct {
	*env
	m         *manager
	originals []*operatorsv1alpha1.ClusterServiceVersion // as they are stored
	others    []string                                   // the Namespaces that were created as targets
	existing  []string                                   // all targets
	seen      copyWatch
}

// newCopying has OperatorGroup and definitions of operators of all namespaces, which do not exist yet. Copies are disabled.
func newCopying(b *testing.B, operators, namespaces int) *copying {
	c := &copying{env: newClients(b)}
	c.existing = c.allNamespaces()
	c.newNamespace()
	c.group(operatorsv1.OperatorGroupSpec{})
	c.playDeployments(0)
	c.originals = c.csvs(operators, 0)
	for _, csv := range c.originals {
		describe(csv)
	}
	b.ReportMetric(sizeOf(c.originals[0])/1000, "kB/CSV")
	c.define()
	c.others = c.newTargets(namespaces - c.targets())
	c.existing = append(c.existing, c.others...)
	c.seen = c.watchCopies()
	return c
}

func (c *copying) allNamespaces() []string {
	c.Helper()
	all := kube.List(c, c.kube.CoreV1().Namespaces(), metav1.ListOptions{}).Items
	return lists.Map(all, func(n corev1.Namespace) string { return n.Name })
}

// define creates OLMConfig and its definition, and those of the kinds that operators own.
func (c *copying) define() {
	c.Helper()
	client := installtest.OrPanic(apiextensions.NewForConfig(cluster.Config()))
	definitions := []*apiextensionsv1.CustomResourceDefinition{crds.OLMConfig()}
	for _, csv := range c.originals {
		for i := range ownedKinds {
			definitions = append(definitions, definition(csv.Name, i))
		}
	}
	for _, d := range definitions {
		created := kube.CreateTemporary(c, client.ApiextensionsV1().CustomResourceDefinitions(), d)
		c.must(kube.WaitUntilServed(c.ctx, client, created.Name))
	}
	kube.Create(c, c.olm.OLMConfigs(), &operatorsv1.OLMConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Spec:       operatorsv1.OLMConfigSpec{Features: &operatorsv1.Features{DisableCopiedCSVs: new(true)}},
	})
}

func (c *copying) newTargets(n int) []string {
	names := make([]string, n)
	todo := make(chan func() error, n)
	for i := range names {
		todo <- func() error {
			ns, err := c.kube.CoreV1().Namespaces().Create(c.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "target-"}}, metav1.CreateOptions{})
			names[i] = ns.GetName()
			return err
		}
	}
	close(todo)
	c.do(todo)
	return names
}

func (c *copying) targets() int { return len(c.existing) }

func (c *copying) copies() int { return c.targets() * len(c.originals) }

func (c *copying) start() { c.m = c.startManager("--with-olm") }

func (c *copying) refresh() {
	c.Helper()
	for i, csv := range c.originals {
		c.originals[i] = kube.Get(c, c.olm.ClusterServiceVersions(csv.Namespace), csv.Name)
	}
}

// complete reports whether each target has a current copy of each original.
func (c *copying) complete(originals ...*operatorsv1alpha1.ClusterServiceVersion) func() (bool, error) {
	return func() (bool, error) {
		for _, original := range originals {
			if c.seen.current(original, metav1.NamespaceAll) < c.targets() {
				return false, nil
			}
		}
		return true, nil
	}
}

func (c *copying) disable(is bool) {
	kube.Patch(c, c.olm.OLMConfigs(), "cluster", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"features":{"disableCopiedCSVs":%t}}}`, is))
}

// reported waits until OLMConfig reports that all copies are as requested, which the manager writes with a delay.
func (c *copying) reported(disabled bool) {
	c.Helper()
	want := plan.Condition(disabled, true)
	c.eventually("OLMConfig reports: "+want.Message, func() (bool, error) {
		config, err := c.olm.OLMConfigs().Get(c.ctx, "cluster", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		condition := meta.FindStatusCondition(config.Status.Conditions, want.Type)
		return condition != nil && condition.Status == want.Status && condition.Message == want.Message, nil
	})
}
