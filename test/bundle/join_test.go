package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// An operator that comes into the namespace of another leaves that one's group as it is.
func TestInstallationsJoinAGroup(t *testing.T) {
	e := newEnv(t)
	e.namespace(t, "joined")
	for _, text := range []string{
		`{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: shop, namespace: joined}, spec: {targetNamespaces: [joined, stock]}}`,
		`{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: shop.v1, namespace: joined}, spec: {displayName: Shop, install: {strategy: deployment, spec: {deployments: []}}}}`,
	} {
		object := parsed(t, text)
		must(t, e.create(t.Context(), object, false))
	}
	c := newInstaller(t)
	for name, test := range map[string]struct {
		csv          string // a .v2 replaces its .v1
		chosen, want []string
		err          string
	}{
		"another, of its own namespaces":    {"checks.v1", []string{"other"}, nil, "OperatorGroup joined/shop is for joined, stock, and so is shop.v1"},
		"another, of all namespaces":        {"checks.v1", []string{""}, nil, "use another namespace"},
		"another, without a message":        {"checks.v1", nil, []string{"joined", "stock"}, ""},
		"another, of the same namespaces":   {"checks.v1", []string{"stock", "joined"}, []string{"stock", "joined"}, ""},
		"the same again, without a message": {"shop.v1", nil, []string{"joined", "stock"}, ""},
		"the same again, of others":         {"shop.v1", []string{"other"}, []string{"other"}, ""},
		"its next version, of others":       {"shop.v2", []string{"other"}, []string{"other"}, ""},
		"another's next version, of other":  {"checks.v2", []string{"other"}, nil, "so is shop.v1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bundle.Bundle{CSV: &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: test.csv}}}
			if name, second := strings.CutSuffix(test.csv, ".v2"); second {
				b.CSV.Spec.Replaces = name + ".v1"
			}
			o := bundle.Options{Namespace: "joined", Watch: test.chosen}
			kept, err := c.CompleteGroup(t.Context(), b, &o)
			installtest.Error(t, test.err, err)
			installtest.Same(t, "watched namespaces", test.want, o.Watch)
			installtest.Same(t, "a message reports that the group is kept", test.chosen == nil, kept != "")
		})
	}
}

// The group of another operator is used and not written: who applies it next finds no field of it in other hands.
func TestInstallationsLeaveAGroupAsItIs(t *testing.T) {
	e := newEnv(t)
	e.namespace(t, "kept")
	group := parsed(t, `{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: shop, namespace: kept, labels: {team: shop}}}`)
	must(t, e.create(t.Context(), group, false))
	resource := e.client(t, group)
	before, err := resource.Get(t.Context(), "shop", metav1.GetOptions{})
	must(t, err)

	c := newInstaller(t)
	i := prepared(t, c, edited(t, proof{example: admission}), bundle.Options{Namespace: "kept"})
	i.Timeout = time.Millisecond
	p := planOf(t, c, i)
	applied, err := install(t.Context(), c, p)
	for _, object := range applied {
		resource := e.client(t, object)
		t.Cleanup(func() { e.remove(t, resource, object.GetName()) })
	}
	// No manager is running to continue.
	if err == nil || !strings.Contains(err.Error(), "no manager has reconciled") || len(applied) != len(i.Manifests)-2 { // without the group and the Namespace
		t.Errorf("of %d manifests %d are applied: %v", len(i.Manifests), len(applied), err)
	}
	after := kube.List(t, resource, metav1.ListOptions{})
	installtest.Same(t, "the groups of the namespace:", []unstructured.Unstructured{*before}, after.Items)
}

// The last operator of a namespace takes the group along that came with a bundle, and none that
// a client created by hand, even where the operator was given other namespaces than that had.
func TestUninstallationsLeaveAGroupMadeByHand(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	groups := e.dynamic.Resource(operatorsv1.GroupVersion.WithResource("operatorgroups"))
	definitions := e.dynamic.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	b := edited(t, proof{example: admission, edits: []string{"SingleNamespace\n    supported: false", "SingleNamespace\n    supported: true"}})
	for name, test := range map[string]struct {
		byHand     string
		annotation string // what another client reports of the group
		watch      []string
		goes       bool
	}{
		"of-a-bundle":          {goes: true},
		"of-a-bundle-for-one":  {watch: []string{"stock"}, goes: true},
		"made-by-hand":         {byHand: "own"},
		"says-of-a-bundle":     {byHand: "own", annotation: wellknown.CreatedByBundle},
		"says-of-no-bundle":    {annotation: "me", goes: true},
		"as-a-bundle-names-it": {byHand: "projectpolicy"},
		"retargeted":           {byHand: "own", watch: []string{"stock"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := bundle.Options{Namespace: "group-" + name, Watch: test.watch}
			e.namespace(t, o.Namespace)
			if test.byHand != "" {
				group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: test.byHand}}
				group.SetGroupVersionKind(operatorsv1.GroupVersion.WithKind(operatorsv1.OperatorGroupKind))
				must(t, e.create(t.Context(), group, false))
			}
			for range 2 { // the second time nothing is new
				must(t, applyAll(t, c, b, o))
			}
			if test.annotation != "" {
				live := kube.List(t, groups.Namespace(o.Namespace), metav1.ListOptions{})
				kube.Patch(t, groups.Namespace(o.Namespace), live.Items[0].GetName(), types.MergePatchType,
					[]byte(`{"metadata":{"annotations":{"`+wellknown.AnnotationCreatedBy+`":"`+test.annotation+`"}}}`))
			}
			i := prepared(t, c, b, o)
			removal := removalOf(t, c, i, true)
			var going wait.Group
			for _, crd := range b.CRDs() {
				going.Start(func() {
					if err := kube.AwaitRemoval(t.Context(), definitions, crd.Name); err != nil {
						t.Errorf("%s: %v", crd.Name, err)
					}
				})
			}
			_, err := c.Uninstall(t.Context(), i, agreedRemoval(t, removal))
			going.Wait()
			must(t, err)
			left := kube.List(t, groups.Namespace(o.Namespace), metav1.ListOptions{})
			installtest.Same(t, "the group no longer exists", test.goes, len(left.Items) == 0)
		})
	}
}

// The group of an installation is removed with the last operator that uses it, whichever it is, and no record is left.
func TestTheLastOperatorRemovesTheGroup(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	o := bundle.Options{Namespace: "last-of-two"}
	e.namespace(t, o.Namespace)
	groups := e.dynamic.Resource(operatorsv1.GroupVersion.WithResource("operatorgroups")).Namespace(o.Namespace)
	first, second := written(t, "first", "first.v1"), written(t, "second", "second.v1")
	for _, b := range []*bundle.Bundle{first, second} {
		must(t, applyAll(t, c, b, o))
	}
	for n, b := range []*bundle.Bundle{first, second} {
		i := prepared(t, c, b, o)
		removal := removeInstallation(t, c, i, false)
		left := kube.List(t, groups, metav1.ListOptions{})
		if want := 1 - n; len(left.Items) != want {
			t.Errorf("after %s is removed there are %d groups, want %d; messages %q", b.CSV.Name, len(left.Items), want, removal.Messages)
		}
	}
	for _, name := range []string{"first", "second"} {
		_, err := e.kube.CoreV1().ConfigMaps(o.Namespace).Get(t.Context(), deploy.RecordName(name), metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("the record of %s is left: %v", name, err)
		}
	}
}

// A Subscription created by hand is used and stays: the command reports it, with the command that removes it.
func TestUninstallationsLeaveASubscriptionMadeByHand(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	b := edited(t, proof{example: admission})
	const command = "kubectl -n subscription-by-hand delete subscription.operators.coreos.com own"
	for namespace, byHand := range map[string]bool{"subscription-of-bundle": false, "subscription-by-hand": true} {
		t.Run(namespace, func(t *testing.T) {
			o := bundle.Options{Namespace: namespace}
			e.namespace(t, namespace)
			i := prepared(t, c, b, o)
			subscription := i.Manifests[len(i.Manifests)-2]
			if byHand {
				subscription.SetName("own")
				subscription.SetAnnotations(nil)
				must(t, e.create(t.Context(), subscription, false))
				resource := e.client(t, subscription)
				t.Cleanup(func() { e.remove(t, resource, "own") })
			}
			for range 2 { // the second time nothing is new
				must(t, applyAll(t, c, b, o))
			}
			i = prepared(t, c, b, o)
			removal := removeInstallation(t, c, i, true)
			installtest.Same(t, deploy.Title(subscription)+" exists", byHand, e.isThere(t, subscription))
			installtest.Same(t, "a message has the command", byHand, strings.Contains(strings.Join(removal.Messages, "\n"), command))
		})
	}
}

func prepared(t *testing.T, c *installer.Installer, b *bundle.Bundle, o bundle.Options) installer.Installation {
	t.Helper()
	kept, err := c.CompleteGroup(t.Context(), b, &o)
	must(t, err)
	manifests := installtest.OrPanic(bundle.Manifests(b, o))
	i := installer.Installation{Bundle: b, Manifests: manifests, KeptGroup: kept, Timeout: time.Minute, Print: t.Logf}
	must(t, c.UseExistingNames(t.Context(), i))
	return i
}

func planOf(t *testing.T, c *installer.Installer, i installer.Installation) installer.Plan {
	t.Helper()
	p, err := c.Plan(t.Context(), shown(i))
	must(t, err)
	return p
}

// shown, agreedRemoval and install stand for an administrator who agrees to everything.
func shown(i installer.Installation) installer.Shown {
	return installer.Show(output.New(io.Discard), i)
}

func agree() error { return nil }

func agreedRemoval(t *testing.T, removal deploy.Removal) installer.ConfirmedRemoval {
	t.Helper()
	agreed, err := installer.ShowRemoval(output.New(io.Discard), removal).Confirm(agree, agree)
	must(t, err)
	return agreed
}

func install(ctx context.Context, c *installer.Installer, p installer.Plan) ([]*unstructured.Unstructured, error) {
	agreed, err := p.Confirm(agree)
	if err != nil {
		return nil, err
	}
	return c.Install(ctx, agreed)
}

func removalOf(t *testing.T, c *installer.Installer, i installer.Installation, deleteCRDs bool) deploy.Removal {
	t.Helper()
	removal, err := c.Removal(t.Context(), i, deleteCRDs)
	must(t, err)
	return removal
}

func removeInstallation(t *testing.T, c *installer.Installer, i installer.Installation, deleteCRDs bool) deploy.Removal {
	t.Helper()
	removal := removalOf(t, c, i, deleteCRDs)
	_, err := c.Uninstall(t.Context(), i, agreedRemoval(t, removal))
	must(t, err)
	return removal
}

// adoptAll agrees to every change, as an administrator may.
func adoptAll(i installer.Installation) installer.Installation {
	for _, m := range i.Manifests {
		i.Adopted = append(i.Adopted, deploy.Reference(m))
	}
	return i
}

// applyAll installs a bundle, and is interrupted before anything comes of it.
func applyAll(t *testing.T, c *installer.Installer, b *bundle.Bundle, o bundle.Options) error {
	t.Helper()
	p, err := c.Plan(t.Context(), shown(adoptAll(prepared(t, c, b, o))))
	if err != nil {
		return err
	}
	return interrupted(t, c, p)
}

func interrupted(t *testing.T, c *installer.Installer, p installer.Plan) error {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	p.Print = func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); strings.HasPrefix(line, "applied ClusterServiceVersion") {
			interrupt()
		}
	}
	if _, err := install(ctx, c, p); !errors.Is(err, installer.ErrInterrupted) {
		return fmt.Errorf("it is not interrupted: %w", err)
	}
	return nil
}
