package controller

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers/informerstest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// twoOf returns a controller with a group that selects two of a number of Namespaces.
func twoOf(t *testing.T, namespaces int) *Controller {
	t.Helper()
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "og", UID: "og", ResourceVersion: "1"}}
	group.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}
	var all []*corev1.Namespace
	for i := range namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}}
		if i < 2 {
			ns.Labels = map[string]string{"team": "red"}
		}
		all = append(all, ns)
	}
	c := subscribed(t, 1)
	c.caches.Groups, c.caches.Namespaces = informerstest.Holding(t, &operatorsv1.OperatorGroup{}, group), informerstest.Holding(t, &corev1.Namespace{}, all...)
	return c
}

func (c *Controller) targets(t *testing.T) []string {
	t.Helper()
	s, failure := c.versions.ScopeOf("shop")
	if failure != nil {
		t.Fatal(failure.Message)
	}
	return s.Namespaces
}

// The cost of reading a scope does not depend on the number of Namespaces.
func TestScopeOfManyNamespaces(t *testing.T) {
	work := func(namespaces int) float64 {
		c := twoOf(t, namespaces)
		c.targets(t)
		return testing.AllocsPerRun(100, func() {
			s, _ := c.versions.ScopeOf("shop")
			c.versions.Unlabelled(s)
		})
	}
	installtest.Same(t, "allocations among 10 Namespaces and among 1,000", work(10), work(1000))
}

// A cached scope is updated when a Namespace or the group changes.
func TestCachedScopeIsUpdated(t *testing.T) {
	c := twoOf(t, 3)
	c.targets(t)
	was := c.caches.Namespaces.Get("", "2")
	is := was.DeepCopy()
	is.Labels = map[string]string{"team": "red"}
	installtest.Must(t, c.caches.Namespaces.Informers[0].GetStore().Update(is))
	c.handlers.NamespaceChanged(was, is)
	installtest.Same(t, "targets with another Namespace", []string{"0", "1", "2"}, c.targets(t))

	group := c.caches.Groups.Get("shop", "og").DeepCopy()
	group.ResourceVersion, group.Spec.Selector.MatchLabels["team"] = "2", "blue"
	installtest.Must(t, c.caches.Groups.Informers[0].GetStore().Update(group))
	if _, failure := c.versions.ScopeOf("shop"); failure == nil {
		t.Errorf("with another selector it covers the same")
	}
}

// A changed Namespace enqueues a group with a selector if its match changes.
func TestNamespaceEnqueuesGroups(t *testing.T) {
	for name, test := range map[string]struct {
		namespace string
		labels    map[string]string
		wakes     bool
	}{
		"matches now":                        {"2", map[string]string{"team": "red"}, true},
		"does not match any more":            {"0", nil, true},
		"still matches, with one more label": {"0", map[string]string{"team": "red", "more": ""}, false},
		"still does not match":               {"2", map[string]string{"team": "blue"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := twoOf(t, 3)
			was := c.caches.Namespaces.Get("", test.namespace)
			is := was.DeepCopy()
			is.Labels = test.labels
			c.handlers.NamespaceChanged(was, is)
			woken := false
			for c.queue.Len() > 0 {
				k, _ := c.queue.Get()
				woken = woken || k.Kind == queue.OperatorGroup
			}
			installtest.Same(t, "the group is woken", test.wakes, woken)
		})
	}
}
