package bundle

import (
	"bytes"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A field that another client has set since is not overwritten, in an object that was adopted as little as in one that
// the installation created, unless the object is adopted (again). What the installation created stays its own.
func TestFieldsTakenBackAreAdoptedAgain(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	o := bundle.Options{Namespace: "contested"}
	e.createAsAnother(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: contested}\n")
	adopted := e.createAsAnother(t, text(priority, "contested-adopted", "platform"))
	b := written(t, "contested", "contested.v1", text(priority, "contested-adopted", "bundle"), text(priority, "contested-own", "bundle"))
	must(t, applyAll(t, c, b, o))
	own := parsed(t, text(priority, "contested-own", ""))
	objects := []*unstructured.Unstructured{adopted, own}

	for _, object := range objects {
		again := parsed(t, text(priority, object.GetName(), "taken back"))
		resource := e.client(t, again)
		_, err := resource.Apply(t.Context(), again.GetName(), again, metav1.ApplyOptions{FieldManager: "helm", Force: true})
		must(t, err)
	}
	p := planOf(t, c, prepared(t, c, b, o))
	must(t, p.Err())
	unadopted := deploy.Unadopted(p.Steps(), nil)
	if len(unadopted) != len(objects) {
		t.Fatalf("asked about %d objects, want %d", len(unadopted), len(objects))
	}
	for _, s := range unadopted {
		if says := s.Describe(); !strings.Contains(says, "description") || !strings.Contains(says, "helm") || !strings.Contains(says, "has changed since this installation wrote it") {
			t.Errorf("asked %q", says)
		}
	}
	installSays(t, c, p, "contested-adopted", "helm")
	for _, object := range objects {
		installtest.Same(t, object.GetName(), "taken back", e.now(t, object).Object["description"])
	}

	must(t, applyAll(t, c, b, o)) // adopts all
	for _, object := range objects {
		installtest.Same(t, object.GetName(), "bundle", e.now(t, object).Object["description"])
	}
	i := prepared(t, c, b, o)
	i.Adopted = []string{deploy.Reference(own)} // Helm owns other fields of it still.
	removal := removeInstallation(t, c, i, false)
	if !e.isThere(t, adopted) || e.isThere(t, own) {
		t.Errorf("removed: %s, and messages %q", p.Namespace(), removal.Messages)
	}
}

// What the installation created with fields of Helm is removed only if adopted, with all objects of the definition.
func TestTakenOverIsNotRemoved(t *testing.T) {
	t.Parallel()
	e, c := newEnvWithInstaller(t)
	const role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: NAME}\nrules: [{apiGroups: [TEXT.example.com], resources: [goods], verbs: [get]}]\n"
	e.namespace(t, "keepstaken")
	o := bundle.Options{Namespace: "keepstaken"}
	b := written(t, "keepstaken", "keepstaken.v1", text(definition1, "keepstaken", "bundle"), text(role, "keepstaken", "bundle"), text(role, "keepstaken-own", "bundle"))
	must(t, applyAll(t, c, b, o))
	own := parsed(t, text(role, "keepstaken-own", ""))
	var references []string
	taken := []*unstructured.Unstructured{parsed(t, text(definition1, "keepstaken", "helm")), parsed(t, text(role, "keepstaken", "helm"))}
	for _, object := range taken {
		references = append(references, deploy.Reference(object))
		_, err := e.client(t, object).Apply(t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: "helm", Force: true})
		must(t, err)
	}

	i := prepared(t, c, b, o)
	i.Adopted = references
	adopting := removalOf(t, c, i, true)
	lines := lists.Map(adopting.Delete, adopting.Line)
	installtest.Among(t, lines, "CustomResourceDefinition goods.keepstaken.example.com (written by helm)", "ClusterRole keepstaken (written by helm)", "ClusterRole keepstaken-own")

	removal := removeInstallation(t, c, prepared(t, c, b, o), true)
	messages := strings.Join(removal.Messages, "\n")
	for n, object := range taken {
		installtest.Contains(t, messages, deploy.Title(object)+" stays: another client owns fields of it (written by helm); --adopt "+references[n]+" removes it")
		if !e.isThere(t, object) {
			t.Errorf("%s is removed", deploy.Title(object))
		}
	}
	if e.isThere(t, own) || removal.Definitions != 0 {
		t.Errorf("%d definitions are removed, and messages %q", removal.Definitions, removal.Messages)
	}
}

// A definition that the installation created, and that Helm has adopted since, is not changed without a question.
func TestDefinitionTakenByAnotherClient(t *testing.T) {
	t.Parallel()
	e, c := newEnvWithInstaller(t)
	e.namespace(t, "takenover")
	o := bundle.Options{Namespace: "takenover"}
	before := written(t, "takenover", "takenover.v1", text(definition1, "takenover", "first"))
	must(t, applyAll(t, c, before, o))
	after := written(t, "takenover", "takenover.v1", text(definition1, "takenover", "bundle"))
	installtest.None(t, "objects to ask about although no other client owns them", deploy.Unadopted(e.planned(t, c, after, "takenover").Steps(), nil))

	taken := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal([]byte(text(definition1, "takenover", "helm")), taken))
	resource := e.client(t, taken)
	_, err := resource.Apply(t.Context(), taken.GetName(), taken, metav1.ApplyOptions{FieldManager: "helm", Force: true})
	must(t, err)
	p := e.planned(t, c, after, "takenover")
	unadopted := deploy.Unadopted(p.Steps(), nil)
	if len(unadopted) != 1 || !strings.Contains(unadopted[0].Describe(), "helm") {
		t.Fatalf("asked about %d objects, want the definition", len(unadopted))
	}
	installSays(t, c, p, "goods.takenover.example.com", "helm")
	must(t, applyAll(t, c, after, o))
}

// A version of an unknown package is replaced by one that an administrator names.
func TestUpgradeOfAnUnknownPackage(t *testing.T) {
	t.Parallel()
	e, c := newEnvWithInstaller(t)
	e.namespace(t, "unknown")
	victim := written(t, "victim", "victim.v1").CSVObject.DeepCopy()
	victim.SetNamespace("unknown")
	must(t, e.create(t.Context(), victim, false))
	evil := written(t, "evil", "evil.v2")
	evil.CSV.Spec.Replaces = "victim.v1"
	o := bundle.Options{Namespace: "unknown"}
	_, err := c.CompleteUpgrade(t.Context(), evil, &o)
	says(t, err, "victim.v1", "--adopt ClusterServiceVersion.operators.coreos.com/unknown/victim.v1")
	_, err = c.CompleteUpgrade(t.Context(), evil, &o, "ClusterServiceVersion.operators.coreos.com/unknown/victim.v1")
	must(t, err)
}

// A bundle without a package replaces no version of an unknown package, and its own earlier version, if it is adopted. The
// versions that are replaced are printed before the question.
func TestUpgradeWithoutAPackage(t *testing.T) {
	t.Parallel()
	const namespace, earlier = "packageless", "packageless.v1"
	e, c := newEnvWithInstaller(t)
	e.namespace(t, namespace)
	victim := written(t, "victim", "victim.v1").CSVObject.DeepCopy()
	victim.SetNamespace(namespace)
	must(t, e.create(t.Context(), victim, false))
	o := bundle.Options{Namespace: namespace}
	must(t, applyAll(t, c, withoutPackage(t, earlier), o))
	next := withoutPackage(t, "packageless.v2")
	for _, replaced := range []string{"victim.v1", earlier} {
		next.CSV.Spec.Replaces = replaced
		flag := "ClusterServiceVersion.operators.coreos.com/" + namespace + "/" + replaced
		_, err := c.CompleteUpgrade(t.Context(), next, &o)
		says(t, err, replaced, "--adopt "+flag)
		if _, err := c.CompleteUpgrade(t.Context(), next, &o, flag); err != nil {
			t.Errorf("%s is adopted: %v", replaced, err)
		}
	}
	next.CSV.Spec.Replaces, next.CSV.Spec.Skips = "absent.v1", []string{earlier}
	var out bytes.Buffer
	_, err := c.Plan(t.Context(), installer.Show(output.New(&out), prepared(t, c, next, o)))
	must(t, err)
	installtest.Contains(t, out.String(), "to be replaced and deleted: ClusterServiceVersion "+namespace+"/"+earlier+"\n")
	if strings.Contains(out.String(), "deleted: ClusterServiceVersion "+namespace+"/victim.v1") {
		t.Errorf("a version that stays is printed:\n%s", out.String())
	}
}

func withoutPackage(t *testing.T, csv string) *bundle.Bundle {
	t.Helper()
	b := written(t, "packageless", csv)
	b.Annotations = nil
	return b
}

// The author of a bundle does not choose a namespace of Kubernetes for it.
func TestNamespacesOfKubernetesAreNotSuggested(t *testing.T) {
	t.Parallel()
	c := newInstaller(t)
	for name, refused := range map[string]bool{"kube-system": true, "kube-green": false} {
		_, err := c.CompleteInstall(t.Context(), written(t, name, name+".v1"), &bundle.Options{})
		installtest.Same(t, name+" is refused", refused, err != nil)
		if refused {
			says(t, err, name+", which belongs to Kubernetes: choose another one with -n NAMESPACE")
		}
	}
}

// The author of a bundle does not choose the namespace of the manager either: pods there can use its ServiceAccount.
func TestNamespacesOfManagersAreNotSuggested(t *testing.T) {
	t.Parallel()
	e, c := newEnvWithInstaller(t)
	e.namespace(t, "hasmanager")
	labels := map[string]string{"app.kubernetes.io/name": "olm-webhook-manager"}
	kube.Create(t, e.kube.AppsV1().Deployments("hasmanager"), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "manager", Labels: labels},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "example.com/manager:1"}}},
		}},
	})
	b := written(t, "hasmanager", "hasmanager.v1")
	_, err := c.CompleteInstall(t.Context(), b, &bundle.Options{})
	says(t, err, "the bundle is made for namespace hasmanager, which is that of Deployment manager", "allow it with -n hasmanager")
	_, err = c.CompleteInstall(t.Context(), b, &bundle.Options{Namespace: "hasmanager"})
	must(t, err)

	out, err := webhooks(t, "bundle", "install", b.Source, "-n", "hasmanager", "--dry-run=server").CombinedOutput()
	must(t, err)
	installtest.Contains(t, string(out), "warning: namespace hasmanager is that of Deployment manager")
}

// An upgrade that ended before the replaced version is deleted is continued by the same command.
func TestUpgradeIsContinued(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	c := newInstaller(t)
	e.namespace(t, "continued")
	o := bundle.Options{Namespace: "continued"}
	must(t, applyAll(t, c, written(t, "continued", "continued.v1"), o))
	next := written(t, "continued", "continued.v2")
	next.CSV.Spec.Replaces = "continued.v1"
	must(t, unstructured.SetNestedField(next.CSVObject.Object, "continued.v1", "spec", "replaces"))
	must(t, applyAll(t, c, next, o))
	_, err := c.CompleteUpgrade(t.Context(), next, &o)
	must(t, err)
}

// A user who may create definitions and no ClusterServiceVersions gets this error before the first object is written: without the
// namespace, no dry run can show it.
func TestDeniedBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	c := e.installerOf(t, "definer",
		rbacv1.PolicyRule{APIGroups: []string{"", "apiextensions.k8s.io"}, Resources: []string{"namespaces", "configmaps", "customresourcedefinitions"}, Verbs: []string{"*"}})
	p := e.planned(t, c, written(t, "denied", "denied.v1"), "denied")
	says(t, p.Err(), "denied.v1", `you may not create clusterserviceversions in namespace "denied"`)
}

// A user who may delete every object of an installation, and not its record, keeps all of it. A record whose objects were
// deleted without it is deleted by the next removal.
func TestRecordIsNotUpdated(t *testing.T) {
	const namespace = "unrecorded"
	e := newEnv(t)
	e.namespace(t, namespace)
	b, o := written(t, namespace, namespace+".v1"), bundle.Options{Namespace: namespace}
	must(t, applyAll(t, newInstaller(t), b, o))
	c := e.installerOf(t, "remover", rbacv1.PolicyRule{APIGroups: []string{"operators.coreos.com"}, Resources: []string{"*"}, Verbs: []string{"delete"}})
	i := prepared(t, c, b, o)
	removal := removalOf(t, c, i, false)
	removed, err := c.Uninstall(t.Context(), i, agreedRemoval(t, removal))
	says(t, err, "nothing was deleted", "ConfigMap unrecorded/bundle-installation.unrecorded: you may not delete configmaps: ask for this permission")
	installtest.Same(t, "removed objects", 0, len(removed))
	for _, object := range removal.Delete {
		installtest.Same(t, deploy.Title(object)+" exists", true, e.isThere(t, object))
		e.remove(t, e.client(t, object), object.GetName())
	}

	c = newInstaller(t)
	removal = removalOf(t, c, i, false)
	must(t, installer.CheckRemoval(i, removal))
	installtest.Among(t, removal.Messages, "no object is left to remove; ConfigMap unrecorded/bundle-installation.unrecorded, which records the installation, is brought up to date")
	_, err = c.Uninstall(t.Context(), i, agreedRemoval(t, removal))
	must(t, err)
	record := objectOf(corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespace, deploy.RecordName(namespace))
	installtest.Same(t, "the record exists", false, e.isThere(t, record))
	installtest.Error(t, "nothing is left to remove", installer.CheckRemoval(i, removalOf(t, c, i, false)))
}

// installerOf returns an Installer for a user who may read everything, and has the permissions of a rule.
func (e *env) installerOf(t *testing.T, user string, rule rbacv1.PolicyRule) *installer.Installer {
	t.Helper()
	meta := metav1.ObjectMeta{Name: user}
	kube.Create(t, e.kube.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}}, rule,
	}})
	kube.Create(t, e.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
	})
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	c := installtest.OrPanic(installer.New(config))
	e.eventually(t, "the objects may be read", func() bool {
		_, err := c.Others(t.Context(), "denied", "")
		return err == nil
	})
	return c
}
