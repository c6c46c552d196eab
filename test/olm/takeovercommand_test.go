package olm

import (
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/forms"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

// underOLM is an operator that olm-operator has installed, with its load.
type underOLM struct {
	*env
	csv          string
	subscription operatorsv1alpha1.SubscriptionSpec
	prepare      func() // creates what calls need
	calls        func() *calls.Load
	load         *calls.Load
	answer       calls.Outcome
	before       map[string]string // its pods and registrations
	stages       []forms.Stage
}

// The commands put the manager in the place of olm-operator, give the operators back, adopt them again, converge them, and
// give them back. In between, the manager rotates certificates and upgrades one operator, and olm-operator rotates the
// certificates that it has back. No call fails, and only the upgrade, olm-operator's rotation and converge replace pods.
// What fails during olm-operator's rotation does not count.
func TestTakeoverCommand(t *testing.T) {
	t.Run("poddefaults and volumelabels", func(t *testing.T) {
		volumes, upgrade := volumesUnderOLM(t)
		takenOverAndBack(upgrade, volumes, exampleUnderOLM(t, "poddefaults"))
	})
	t.Run("projectpolicy and crdconversion", func(t *testing.T) {
		takenOverAndBack(func() {}, exampleUnderOLM(t, "projectpolicy"), conversionUnderOLM(t))
	})
}

func takenOverAndBack(upgrade func(), operators ...*underOLM) {
	admin := operators[0]
	admin.Helper()
	admin.Cleanup(func() { admin.works("manager") })
	admin.works("olm")
	for _, o := range operators {
		o.starts()
		o.stage("olm-operator")
	}

	admin.takeover("plan")
	admin.takeover("run", "--yes")
	for _, o := range operators {
		o.takeoverIs(o.csv, managerv1alpha1.TakeoverAdopted)
		o.stage("adopted")
		o.rotates(o.namespace, o.csv)
		o.isUndisturbed("takeover and rotation")
	}
	admin.runs("doctor")
	upgrade()
	admin.takeover("undo", "--yes")
	for _, o := range operators {
		o.staysSucceeded(o.csv)
		o.isUndisturbed("the return")
		o.stage("back with olm-operator")
		o.load.End(calls.Never)
	}
	for _, o := range operators {
		o.isRotatedByOLM()
		o.load = o.calls()
		o.before = o.identities()
	}

	admin.takeover("run", "--yes")
	for _, o := range operators {
		o.isUndisturbed("the second takeover")
		admin.takeover("converge", o.namespace+"/"+o.csv, "--yes")
		o.load.GoesOn(o.answer)
		o.haveRolledOut()
		o.stage("converged")
		o.keepsAllButPods("converge")
	}
	admin.takeover("undo", "--yes")
	for _, o := range operators {
		o.staysSucceeded(o.csv)
		o.isUndisturbed("the return of what was converged")
		o.load.End(calls.Never)
		o.stage("back after converge")
		o.writesForms()
	}
}

// takeover runs a command with which an administrator takes the place of olm-operator.
func (e *env) takeover(arguments ...string) {
	e.Helper()
	e.runs(append([]string{"takeover"}, arguments...)...)
}

// runs runs a command of the plugin, which exits with 0.
func (e *env) runs(arguments ...string) {
	e.Helper()
	program, err := programs.Path("kubectl-webhooks")
	e.must(err)
	output, err := exec.CommandContext(e.ctx, program, arguments...).CombinedOutput()
	e.Logf("%s:\n%s", strings.Join(arguments, " "), output)
	e.must(err)
}

// isUndisturbed checks that the calls continue, and that pods and registrations are the same.
func (o *underOLM) isUndisturbed(since string) {
	o.Helper()
	o.load.GoesOn(o.answer)
	installtest.Same(o, o.csv+": pods and registrations after "+since, o.before, o.identities())
}

// keepsAllButPods checks that everything but the pods is the same, and compares with these pods from then on.
func (o *underOLM) keepsAllButPods(since string) {
	o.Helper()
	pod := func(title, _ string) bool { return strings.HasPrefix(title, "Pod ") }
	after := o.identities()
	kept, before := maps.Clone(after), maps.Clone(o.before)
	maps.DeleteFunc(kept, pod)
	maps.DeleteFunc(before, pod)
	installtest.Same(o, o.csv+": registrations after "+since, before, kept)
	o.before = after
}

// starts waits until olm-operator has installed the operator, and calls its webhook from then on.
func (o *underOLM) starts() {
	o.Helper()
	o.subscribe(o.subscription)
	o.installs(o.subscription.Package, o.csv)
	o.staysSucceeded(o.csv)
	o.prepare()
	o.load = o.calls()
	o.load.GoesOn(o.answer)
	o.before = o.identities()
}

// isRotatedByOLM has olm-operator renew the certificate: it does so if the Secret has no CA.
func (o *underOLM) isRotatedByOLM() {
	o.Helper()
	certificates := o.servingCertificates()
	for secret := range certificates {
		kube.Patch(o, kubeClient.CoreV1().Secrets(o.namespace), secret, types.MergePatchType, fmt.Appendf(nil, `{"data":{%q:null}}`, wellknown.KeyOLMCA))
	}
	kube.Patch(o, olmClient.ClusterServiceVersions(o.namespace), o.csv, types.MergePatchType, []byte(`{"metadata":{"labels":{"reconciled-for":"rotation"}}}`))
	for secret, before := range certificates {
		o.eventually("olm-operator renews the certificate of "+secret, func() (bool, any) {
			now := o.servingCertificates()[secret]
			return now != "" && now != before, now
		})
	}
	o.staysSucceeded(o.csv)
	o.haveRolledOut()
}

// haveRolledOut waits until only pods of the last pod templates exist.
func (e *env) haveRolledOut() {
	e.Helper()
	for _, d := range kube.List(e, kubeClient.AppsV1().Deployments(e.namespace), metav1.ListOptions{}).Items {
		e.eventually("Deployment "+d.Name+" has rolled out", func() (bool, any) {
			d := kube.Get(e, kubeClient.AppsV1().Deployments(e.namespace), d.Name)
			pods := kube.List(e, kubeClient.CoreV1().Pods(e.namespace), metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)}).Items
			replicas := *d.Spec.Replicas
			return d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == replicas && len(pods) == int(replicas), d.Status
		})
	}
}

func exampleUnderOLM(t *testing.T, name string) *underOLM {
	t.Helper()
	e, o := newExample(t, name)
	v1 := e.example(o.bundle)
	e.serve(packageOf(catalog.Chain(stable, v1), v1))
	return &underOLM{env: e, csv: v1.Name(), subscription: operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: stable}, prepare: func() { o.createsRules(e) }, calls: func() *calls.Load { return o.calls(e) }, answer: o.answer}
}

// volumesUnderOLM also returns what upgrades the operator from its catalog.
func volumesUnderOLM(t *testing.T) (volumes *underOLM, upgrade func()) {
	t.Helper()
	e, o := newExample(t, "volumelabels")
	v1 := e.example(o.bundle).Release("0.1.0")
	v2 := v1.Release("0.2.0")
	e.serve(catalog.Package{
		Name: v1.Package, DefaultChannel: "new", Bundles: []catalog.Bundle{v1, v2},
		Channels: []catalog.Channel{catalog.Chain("old", v1), catalog.Chain("new", v1, v2)},
	})
	old := operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: "old"}
	volumes = &underOLM{env: e, csv: v1.Name(), subscription: old, prepare: func() { o.createsRules(e) }, calls: func() *calls.Load { return o.calls(e) }, answer: o.answer}
	return volumes, func() {
		e.changes(v1.Package, map[string]any{"channel": "new"})
		e.installs(v1.Package, v2.Name())
		e.isGone(v1.Name())
		e.haveRolledOut()
		volumes.csv, volumes.before = v2.Name(), e.identities()
	}
}

func conversionUnderOLM(t *testing.T) *underOLM {
	t.Helper()
	e := newEnv(t, "crdconversion", operatorsv1.OperatorGroupSpec{})
	v2 := e.example("crdconversion/bundle-v2")
	e.serve(packageOf(catalog.Chain(stable, v2), v2))
	subscription := operatorsv1alpha1.SubscriptionSpec{Package: v2.Package, Channel: stable}
	client := &caches.Client{Dynamic: dynamicClient, Namespace: "default"}
	return &underOLM{
		env: e, csv: v2.Name(), subscription: subscription, answer: calls.Converted,
		prepare: func() {
			e.convertsCaches(client)
			e.Cleanup(func() { removeCaches(e, client) })
			createCache(e, client, caches.New(convert.V1, "sessions", map[string]any{"size": "3x512Mi"}))
		},
		calls: func() *calls.Load {
			e.convertsCaches(client)
			return calls.Start(t, between, client.Reads(t, caches.Authored, caches.Versions, "sessions"))
		},
	}
}

// convertsCaches waits until objects are converted. Succeeded does not mean that with olm-operator.
func (e *env) convertsCaches(client *caches.Client) {
	e.Helper()
	e.eventually("Caches are converted", func() (bool, any) {
		err := client.TryDryRun(e.T, convert.V1)
		return err == nil, err
	})
}
