package bundle

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// What another client writes while an administrator is asked is not overwritten, and not removed later.
func TestOthersWriteBeforeTheAnswer(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	class, crd := text(priority, "NAME", "platform"), text(definition1, "NAME", "platform")
	for name, test := range map[string]struct {
		before   string // what exists when the administrator is asked
		manifest string // of the bundle
		write    func(t *testing.T, name string)
		says     string
		want     string // the description that stays
	}{
		"created": {
			manifest: text(priority, "NAME", "bundle"), want: "platform", says: "was created by another client (written by terraform) since the objects were checked",
			write: func(t *testing.T, name string) { e.createAsAnother(t, text(class, name, "")) },
		},
		"created-alike": {
			manifest: class, want: "platform", says: "PriorityClass created-alike was created by another client",
			write: func(t *testing.T, name string) { e.createAsAnother(t, text(class, name, "")) },
		},
		"created-definition": {
			manifest: text(definition1, "NAME", "bundle"), says: "was created by another client",
			write: func(t *testing.T, name string) { e.createAsAnother(t, text(crd, name, "")) },
		},
		"replaced": {
			before: class, manifest: text(priority, "NAME", "bundle"), want: "platform", says: "was replaced by another client",
			write: func(t *testing.T, name string) {
				e.remove(t, e.classes(t), name)
				e.createAsAnother(t, text(class, name, ""))
			},
		},
		"changed": {
			before: class, manifest: text(priority, "NAME", "bundle"), want: "another text", says: "was changed by another client since the objects were checked (description)",
			write: func(t *testing.T, name string) { e.describe(t, name, "another text") },
		},
		"deleted-and-adopted": {
			before: class, manifest: text(priority, "NAME", "bundle"), says: "was deleted by another client",
			write: func(t *testing.T, name string) { e.remove(t, e.classes(t), name) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := bundle.Options{Namespace: name}
			e.namespace(t, name)
			if test.before != "" {
				e.createAsAnother(t, text(test.before, name, ""))
			}
			b := written(t, name, name+".v1", text(test.manifest, name, ""))
			i := adoptAll(prepared(t, c, b, o))
			p := planOf(t, c, i)
			test.write(t, name)
			installSays(t, c, p, test.says, "run the same command again")
			removal := removalOf(t, c, prepared(t, c, b, o), true)
			_, err := c.Uninstall(t.Context(), i, agreedRemoval(t, removal))
			must(t, err)
			if test.want == "" {
				return
			}
			live, err := e.classes(t).Get(t.Context(), name, metav1.GetOptions{})
			must(t, err)
			installtest.Same(t, "description", any(test.want), live.Object["description"])
		})
	}
}

// An object that is to be overwritten may be written meanwhile in what the administrator was not asked about.
func TestStatusIsWrittenBeforeTheAnswer(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	const name = "busy"
	e.namespace(t, name)
	budget := e.createAsAnother(t, "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: busy, namespace: busy}\nspec: {minAvailable: 1}\n")
	b := written(t, name, name+".v1", "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: busy}\nspec: {minAvailable: 2}\n")
	i := prepared(t, c, b, bundle.Options{Namespace: name})
	i.Adopted = []string{deploy.Reference(budget)}
	p := planOf(t, c, i)
	budgets := e.client(t, budget)
	kube.Patch(t, budgets, name, types.MergePatchType, []byte(`{"status": {"disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}}`), "status")
	must(t, interrupted(t, c, p))
	n, _, _ := unstructured.NestedInt64(e.now(t, budget).Object, "spec", "minAvailable")
	installtest.Same(t, "minAvailable", 2, n)
}

// Neither an object that another client created nor one of another installation is removed because a record names
// it, or because the creation of one with its name was interrupted.
func TestOnlyWhatNamesTheInstallationIsRemoved(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	for name, test := range map[string]struct {
		manager, installation string
		uid                   bool // whether the record has it
		goes                  bool
	}{
		"interrupted":           {deploy.FieldManager, "interrupted/interrupted", false, true},
		"recorded":              {deploy.FieldManager, "recorded/recorded", true, true},
		"by-the-same-commands":  {deploy.FieldManager, "", false, false},
		"forged-record":         {deploy.FieldManager, "", true, false},
		"another-installation":  {deploy.FieldManager, "mall/stock", false, false},
		"anothers-and-recorded": {deploy.FieldManager, "mall/stock", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			e.namespace(t, name)
			class := parsed(t, text(priority, name, ""))
			if test.installation != "" {
				class.SetAnnotations(map[string]string{wellknown.AnnotationInstallation: test.installation})
			}
			live, err := e.classes(t).Apply(t.Context(), name, class, metav1.ApplyOptions{FieldManager: test.manager})
			must(t, err)
			t.Cleanup(func() { removeIfThere(t, e.classes(t), name) })
			entry := deploy.Recorded{TypeMeta: metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"}, Name: name, Created: true}
			if test.uid {
				entry.UID = live.GetUID()
			}
			e.record(t, name, deploy.Record{CSV: name + ".v1", Objects: []deploy.Recorded{entry}})

			i := prepared(t, c, written(t, name, name+".v1", text(priority, name, "")), bundle.Options{Namespace: name})
			removeInstallation(t, c, i, false)
			installtest.Same(t, deploy.Title(class)+" exists", !test.goes, e.isThere(t, class))
		})
	}
}

// Where the record cannot be written, nothing is.
func TestRecordIsTriedFirst(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	const name = "unrecorded"
	e.namespace(t, name)
	e.createAsAnother(t, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: maps, namespace: unrecorded}\nspec: {hard: {count/configmaps: 0}}\n")
	counted := []byte(`{"status": {"hard": {"count/configmaps": "0"}, "used": {"count/configmaps": "0"}}}`) // as the quota controller writes it
	kube.Patch(t, e.kube.CoreV1().ResourceQuotas(name), "maps", types.MergePatchType, counted, "status")
	b := written(t, name, name+".v1", text(priority, name, "bundle"))
	p := planOf(t, c, prepared(t, c, b, bundle.Options{Namespace: name}))
	installSays(t, c, p, "ConfigMap unrecorded/bundle-installation.unrecorded", "quota")
	if _, err := e.classes(t).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the PriorityClass was written: %v", err)
	}
}

// Of two commands on one package the second one ends before its first write.
func TestTwoCommandsAtOnce(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	const name = "twice"
	o := bundle.Options{Namespace: name}
	e.namespace(t, name)
	b := written(t, name, name+".v1", text(priority, name, "bundle"))
	first, second := e.planned(t, c, b, name), e.planned(t, c, b, name)
	must(t, interrupted(t, c, first))
	installSays(t, c, second, "ConfigMap twice/bundle-installation.twice", "by another command", "run the same command again")
	i := prepared(t, c, b, o)
	removeInstallation(t, c, i, false)
	for _, m := range i.Manifests {
		installtest.Same(t, deploy.Title(m)+" exists", m.GetKind() == "Namespace", e.isThere(t, m))
	}
}

func TestInstalledVersionIsKnownByItsRecord(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	o := bundle.Options{Namespace: "unsubscribed"}
	e.namespace(t, o.Namespace)
	must(t, applyAll(t, c, written(t, "unsubscribed", "unsubscribed.v1"), o))
	subscriptions := e.client(t, objectOf(operatorsv1alpha1.SchemeGroupVersion.WithKind("Subscription"), o.Namespace, ""))
	e.remove(t, subscriptions, "unsubscribed")
	_, err := c.CompleteInstall(t.Context(), written(t, "unsubscribed", "unsubscribed.v5"), &o)
	says(t, err, "unsubscribed.v1")
}

func TestDryRunOfWhatDoesNotExist(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	const name = "tried"
	e.namespace(t, name)
	p := planOf(t, c, prepared(t, c, written(t, name, name+".v1", text(priority, name, "bundle")), bundle.Options{Namespace: name}))
	taken, err := c.DryRunInstall(p)
	must(t, err)
	if len(taken) < 4 {
		t.Errorf("only %d objects were tried", len(taken))
	}
	for _, o := range taken {
		installtest.Same(t, "the resourceVersion of "+deploy.Title(o), "", o.GetResourceVersion())
	}
}

func (e *env) classes(t *testing.T) dynamic.ResourceInterface {
	t.Helper()
	return e.client(t, objectOf(schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), "", ""))
}

func (e *env) describe(t *testing.T, name, description string) {
	t.Helper()
	_, err := e.classes(t).Patch(t.Context(), name, types.MergePatchType, []byte(`{"description": "`+description+`"}`), metav1.PatchOptions{FieldManager: "terraform"})
	must(t, err)
}

// record stores the record of the installation whose package and namespace have this name.
func (e *env) record(t *testing.T, name string, r deploy.Record) {
	t.Helper()
	data := installtest.OrPanic(r.Data())
	kube.Create(t, e.kube.CoreV1().ConfigMaps(name), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: deploy.RecordName(name)}, Data: data})
}

func removeIfThere(t *testing.T, resource dynamic.ResourceInterface, name string) {
	t.Helper()
	if err := resource.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}
