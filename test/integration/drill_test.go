package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	clusterpkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/drill"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// What doctor drill predicts from a cluster is what it predicts from its dump. The API server refuses the requests that are
// predicted to be refused, and admits the others; and after the proposed change, it admits them all.
func TestDrill(t *testing.T) {
	e := newEnv(t) // alone: the dump is read after the cluster
	a, b, exempted, unbound := neighbour(e), neighbour(e), neighbour(e), neighbour(e)
	for _, one := range []*env{a, b, exempted, unbound} {
		hookDeployment(one)
		standingPod(one)
	}
	register := func(of *env, covered, resource string, changes ...func(*admissionregistrationv1.ValidatingWebhook)) {
		hook(e, of.namespace+"."+e.namespace, of.namespace, "hook", nil, covered, resource, append(changes, inASecond)...)
	}
	register(a, b.namespace, "pods")
	register(b, a.namespace, "pods")
	register(exempted, exempted.namespace, "pods", exempting)
	register(unbound, unbound.namespace, "pods/binding")

	reader := installtest.OrPanic(clusterpkg.New(cluster.Config()))
	prediction := drilled(e, reader)
	same(t, "the prediction from a dump", drillText(installtest.OrPanic(drill.Predict(drillDump(e)))), drillText(prediction))
	same(t, "what waits for what", waitsIn(prediction, a, b, exempted, unbound), map[string]string{
		a.namespace: "CREATE of pods", b.namespace: "CREATE of pods", exempted.namespace: "", unbound.namespace: "CREATE of pods/binding",
	})
	proved(e, prediction, a, b, exempted, unbound)

	for _, c := range prediction.Cycles {
		for _, change := range c.Changes {
			kube.Patch(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), change.Webhook.Name, types.JSONPatchType, patchOf(change.Command))
		}
	}
	prediction = drilled(e, reader)
	same(t, "what waits after the changes", waitsIn(prediction, a, b, exempted, unbound), map[string]string{
		a.namespace: "", b.namespace: "", exempted.namespace: "", unbound.namespace: "",
	})
	proved(e, prediction, exempted, unbound)
	e.eventually("one of the two is admitted", func() (bool, any) {
		errs := []error{try(e, podOf(a)), try(e, podOf(b))}
		return errs[0] == nil || errs[1] == nil, errs
	})
}

func inASecond(w *admissionregistrationv1.ValidatingWebhook) { w.TimeoutSeconds = new(int32(1)) }

func drilled(e *env, reader *clusterpkg.Cluster) drill.Prediction {
	e.Helper()
	s := installtest.OrPanic(reader.Drill(e.ctx))
	return installtest.OrPanic(reader.Predict(e.ctx, s))
}

func drillText(p drill.Prediction) string {
	return string(installtest.OrPanic(json.MarshalIndent(p, "", " ")))
}

// drillDump is what kubectl get -o yaml prints of the cluster.
func drillDump(e *env) drill.Snapshot {
	e.Helper()
	var text strings.Builder
	for _, resource := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "namespaces"}, {Version: "v1", Resource: "nodes"}, {Version: "v1", Resource: "serviceaccounts"},
		{Version: "v1", Resource: "resourcequotas"}, {Version: "v1", Resource: "services"}, {Version: "v1", Resource: "pods"},
		{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, {Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
		{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "replicasets"},
		{Group: "apps", Version: "v1", Resource: "statefulsets"}, {Group: "apps", Version: "v1", Resource: "daemonsets"},
		{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	} {
		list := installtest.OrPanic(e.any.Resource(resource).List(e.ctx, metav1.ListOptions{}))
		text.WriteString("---\n" + string(installtest.OrPanic(yaml.Marshal(list.UnstructuredContent()))))
	}
	var s drill.Snapshot
	for _, o := range installtest.OrPanic(explain.Objects([]byte(text.String()))) {
		e.must(s.Add(o))
	}
	return s
}

// waitsIn are the requests for which the Deployments of Namespaces wait.
func waitsIn(p drill.Prediction, among ...*env) map[string]string {
	waits := map[string]string{}
	for _, one := range among {
		waits[one.namespace] = ""
		for _, s := range p.Never {
			if s.Kind != "Deployment" || s.Namespace != one.namespace {
				continue
			}
			var requests []string
			for _, w := range s.Waits {
				requests = append(requests, w.Request)
			}
			waits[one.namespace] = strings.Join(requests, ", ")
		}
	}
	return waits
}

// proved sends the requests of the controllers.
func proved(e *env, p drill.Prediction, among ...*env) {
	e.Helper()
	for _, one := range among {
		predicted := waitsIn(p, one)[one.namespace]
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: one.namespace, Name: standing}}
		for request, a := range map[string]attempt{
			"CREATE of pods":         podOf(one),
			"CREATE of pods/binding": {"system:kube-scheduler", nil, binding(pod), true},
			"UPDATE of pods/status":  {"system:node:one", []string{"system:nodes"}, patching(pod, "status"), true},
		} {
			refused := slices.Contains(strings.Split(predicted, ", "), request)
			e.eventually(fmt.Sprintf("%s in %s: refused is %v, as predicted", request, one.namespace, refused), func() (bool, any) {
				err := try(e, a)
				return refused && wasCalled(err) || !refused && err == nil, err
			})
		}
	}
}

// podOf is the creation of a pod by the controller of the ReplicaSet.
func podOf(one *env) attempt {
	pod := aHookPod()
	pod.Namespace = one.namespace
	return attempt{controllers + "replicaset-controller", []string{"system:serviceaccounts"}, creating(pod), true}
}

const standing = "standing"

// standingPod creates a pod that is no backend of a webhook, before the webhooks are registered.
func standingPod(one *env) {
	one.Helper()
	pod := aHookPod()
	pod.ObjectMeta = metav1.ObjectMeta{Name: standing}
	kube.Create(one, one.kube.CoreV1().Pods(one.namespace), pod)
}

// patchOf is the JSON patch of a command.
func patchOf(command string) []byte {
	_, patch, _ := strings.Cut(command, "-p '")
	return []byte(strings.TrimSuffix(patch, "'"))
}
