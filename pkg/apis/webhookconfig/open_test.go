package webhookconfig

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// configurations are of both kinds, with the condition of the author and a timeout.
func configurations(name string, timeout int32) []metav1.Object {
	w := admissionregistrationv1.MutatingWebhook{
		Name: name, FailurePolicy: new(admissionregistrationv1.Fail), TimeoutSeconds: &timeout,
		ClientConfig:    admissionregistrationv1.WebhookClientConfig{CABundle: []byte("ca")},
		MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "author", Expression: "a"}},
	}
	return []metav1.Object{
		&admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: []admissionregistrationv1.ValidatingWebhook{Validating(w)}},
		&admissionregistrationv1.MutatingWebhookConfiguration{Webhooks: []admissionregistrationv1.MutatingWebhook{w}},
	}
}

func copied(o metav1.Object) metav1.Object {
	if v, ok := o.(*admissionregistrationv1.ValidatingWebhookConfiguration); ok {
		return v.DeepCopy()
	}
	return o.(*admissionregistrationv1.MutatingWebhookConfiguration).DeepCopy()
}

// textOf has a line for each webhook: name, failurePolicy, timeout, caBundle and matchConditions.
func textOf(o metav1.Object) (lines []string) {
	for _, w := range Webhooks(o) {
		line := []string{w.Name, string(*w.FailurePolicy), strings.Repeat("s", int(*w.TimeoutSeconds)), string(w.ClientConfig.CABundle)}
		for _, c := range w.MatchConditions {
			line = append(line, c.Expression)
		}
		lines = append(lines, strings.Join(line, " "))
	}
	return lines
}

func TestOpen(t *testing.T) {
	for name, test := range map[string]struct {
		timeout  int32
		state    managerv1alpha1.FailOpenState
		requests string
		want     []string
	}{
		"closed":             {5, managerv1alpha1.FailOpenClosed, "r", []string{"v.example.com Fail sssss ca a"}},
		"for some":           {5, managerv1alpha1.FailOpenPartly, "r", []string{"v.example.com Fail sssss ca a !(r)", "fail-open.v.example.com Ignore ss ca a r"}},
		"for all":            {5, managerv1alpha1.FailOpenAll, "", []string{"v.example.com Ignore ss ca a"}},
		"a short timeout":    {1, managerv1alpha1.FailOpenAll, "", []string{"v.example.com Ignore s ca a"}},
		"for some resources": {1, managerv1alpha1.FailOpenAll, "r", []string{"v.example.com Fail s ca a !(r)", "fail-open.v.example.com Ignore s ca a r"}},
	} {
		for _, o := range configurations("v.example.com", test.timeout) {
			closed := copied(o)
			Open(o, test.state, test.requests)
			installtest.Same(t, name, test.want, textOf(o))
			installtest.Same(t, name+": the state", test.state, OpenState(o))
			installtest.Same(t, name+": the requests", len(test.want) == 2, OpenRequests(o) == "r")
			again := copied(o)
			CopyOpening(again, o)
			installtest.Same(t, name+": the same opening", textOf(o), textOf(again))
			live := copied(closed)
			CopyOpening(live, o)
			installtest.Same(t, name+": copied", textOf(o), textOf(live))
			CopyOpening(live, closed)
			installtest.Same(t, name+": closed again", textOf(closed), textOf(live))
			installtest.Same(t, name+": annotations", 0, len(live.GetAnnotations()))
		}
	}
}

// An author may use the prefix, and another client may remove the annotation.
func TestOpenState(t *testing.T) {
	for _, o := range configurations("fail-open.v.example.com", 5) {
		installtest.Same(t, "a name of the author", managerv1alpha1.FailOpenClosed, OpenState(o))
		Open(o, managerv1alpha1.FailOpenPartly, "r")
		installtest.Same(t, "the webhooks", []string{"fail-open.v.example.com Fail sssss ca a !(r)", "fail-open.fail-open.v.example.com Ignore ss ca a r"}, textOf(o))
		o.SetAnnotations(nil)
		installtest.Same(t, "without the annotation", managerv1alpha1.FailOpenPartly, OpenState(o))
		Close(o, new(admissionregistrationv1.Fail), new(int32(5)))
		installtest.Same(t, "closed", []string{"fail-open.v.example.com Fail sssss ca a"}, textOf(o))
	}
	for _, o := range configurations("v.example.com", 5) {
		o.SetAnnotations(map[string]string{"olm-webhook-manager.io/fail-open": "All"})
		installtest.Same(t, "only the annotation", managerv1alpha1.FailOpenClosed, OpenState(o))
	}
	installtest.Same(t, "no webhooks", managerv1alpha1.FailOpenClosed, OpenState(&admissionregistrationv1.ValidatingWebhookConfiguration{}))
}

func TestCannotOpen(t *testing.T) {
	for _, o := range configurations("v.example.com", 5) {
		installtest.Says(t, "a usual webhook", "", CannotOpen(o))
	}
	for _, o := range configurations(strings.Repeat("a.", 120)+"example.com", 5) {
		installtest.Says(t, "a long name", "generateName is too long", CannotOpen(o))
	}
	v := configurations("v.example.com", 5)[0].(*admissionregistrationv1.ValidatingWebhookConfiguration)
	v.Webhooks[0].MatchConditions = make([]admissionregistrationv1.MatchCondition, 64)
	installtest.Says(t, "many conditions", "64 matchConditions", CannotOpen(v))
}
