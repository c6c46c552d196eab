package integration

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A controller that reverts each repair is reported, and not fought without limit.
func TestContest(t *testing.T) {
	for name, test := range map[string]struct {
		adversary func(*env)
		named     []string
	}{
		"a field":    {adversary, []string{`field manager "adversary"`, "failurePolicy"}},
		"the object": {deleter, []string{"a client that field ownership does not show", "the object itself"}},
	} {
		t.Run(name, func(t *testing.T) {
			e, m := newRunningOperator(t)
			before, since := e.registration("v.example.com"), auditEnd(e)
			test.adversary(e)
			e.isContested("operator.v1", before.Name, test.named[0], test.named[1])
			m.looksAgain("operator.v1")
			repairs := slices.DeleteFunc(m.writes(since), func(w string) bool { return !strings.HasSuffix(w, before.Name) })
			if len(repairs) > 4 {
				t.Errorf("repaired %d times:\n%s", len(repairs), strings.Join(repairs, "\n"))
			}
			if now, there := registered(e)["v.example.com"]; there && !bytes.Equal(now.Webhooks[0].ClientConfig.CABundle, before.Webhooks[0].ClientConfig.CABundle) {
				t.Error("the trust was changed")
			}
		})
	}
}

// While a client reverts the caBundle of a registration, no pod may come to serve what it does not trust.
func TestContestedTrust(t *testing.T) {
	e, m := newRunningOperator(t)
	bundleAdversary(e)
	e.isContested("operator.v1")
	secrets := e.kube.CoreV1().Secrets(e.namespace)
	e.must(secrets.Delete(e.ctx, servingSecret, metav1.DeleteOptions{}))
	awaitObject(e, secrets, servingSecret)
	m.looksAgain("operator.v1")
	since := auditEnd(e)
	for range 3 {
		m.looksAgain("operator.v1")
		if ca := e.servingCA(); ca != nil && !trusts(e, ca) {
			t.Fatal("pods serve a certificate that the webhook does not trust")
		}
	}
	m.writesNothing(since)
}

// While a client reverts another field, the caBundle is written: pods get another certificate, and no call fails.
func TestTrustDuringAContest(t *testing.T) {
	e, _ := newRunningOperator(t)
	adversary(e)
	e.isContested("operator.v1")
	previous := e.servingCA()
	e.must(e.kube.CoreV1().Secrets(e.namespace).Delete(e.ctx, servingSecret, metav1.DeleteOptions{}))
	e.eventually("pods get another certificate, which the webhook trusts", func() (bool, any) {
		ca := e.servingCA()
		return ca != nil && !bytes.Equal(ca, previous) && trusts(e, ca), rotation(e)
	})
}

func (e *env) isContested(csv string, texts ...string) {
	e.Helper()
	e.eventually("the contest is reported", func() (bool, any) {
		conditions := e.rollout(csv).Conditions
		c := meta.FindStatusCondition(conditions, "Contested")
		return c != nil && c.Status == metav1.ConditionTrue &&
			!slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(c.Message, text) }), conditions
	})
}

// adversary sets failurePolicy Ignore in every validating webhook of the test whenever a client sets anything else.
func adversary(e *env) {
	e.Helper()
	client := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	patch := fmt.Sprintf(`[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": %q}]`, admissionregistrationv1.Ignore)
	undo(e, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) error {
		if *c.Webhooks[0].FailurePolicy == admissionregistrationv1.Ignore {
			return nil
		}
		_, err := client.Patch(e.ctx, c.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "adversary"})
		return err
	})
}

// bundleAdversary adds a CA to the first caBundle of a validating webhook, and keeps that value.
func bundleAdversary(e *env) {
	e.Helper()
	client, held := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), map[string][]byte{}
	other := unusedCA(e, "other.example.com").CA
	undo(e, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) error {
		bundle := c.Webhooks[0].ClientConfig.CABundle
		if held[c.Name] == nil {
			held[c.Name] = slices.Concat(bundle, other)
		}
		if bytes.Equal(bundle, held[c.Name]) {
			return nil
		}
		patch := fmt.Sprintf(`[{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": %q}]`, base64.StdEncoding.EncodeToString(held[c.Name]))
		_, err := client.Patch(e.ctx, c.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "adversary"})
		return err
	})
}

func deleter(e *env) {
	e.Helper()
	client := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	undo(e, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) error {
		return client.Delete(e.ctx, c.Name, metav1.DeleteOptions{})
	})
}

func undo(e *env, f func(*admissionregistrationv1.ValidatingWebhookConfiguration) error) {
	e.Helper()
	w := kube.Watch(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), metav1.ListOptions{
		LabelSelector: "olm.owner.namespace=" + e.namespace, SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	go func() {
		for event := range w.ResultChan() {
			c, ok := event.Object.(*admissionregistrationv1.ValidatingWebhookConfiguration)
			if !ok || len(c.Webhooks) == 0 || event.Type == watch.Deleted {
				continue
			}
			if err := f(c); err != nil && e.ctx.Err() == nil && !apierrors.IsNotFound(err) {
				e.Errorf("the adversary: %v", err)
			}
		}
	}()
}

// Another client that sets the phase of a ClusterServiceVersion back as often as the manager writes it,
// such as an OLM v0 that was started later, ends in a contest: the manager pauses, and reports it.
func TestContestOverTheStatus(t *testing.T) {
	e, _ := newRunningOperator(t)
	ctx, stop := context.WithCancel(e.ctx)
	defer stop()
	client := e.olm.ClusterServiceVersions(e.namespace)
	changed := revert(ctx, e, client.Watch, "operator.v1", func() bool {
		live, err := client.Get(ctx, "operator.v1", metav1.GetOptions{})
		if err != nil || live.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded {
			return false
		}
		live.Status.Phase, live.Status.Message = operatorsv1alpha1.CSVPhasePending, "another client wrote this"
		_, err = client.UpdateStatus(ctx, live, metav1.UpdateOptions{FieldManager: "another"})
		return err == nil
	})
	e.eventually("the contest is reported", func() (bool, any) {
		c := meta.FindStatusCondition(e.rollout("operator.v1").Conditions, "Contested")
		return c != nil && strings.Contains(c.Message, "ClusterServiceVersion "+e.namespace+"/operator.v1") && strings.Contains(c.Message, "status"), c
	})
	stop()
	atMostEight(t, <-changed)
}

func TestContestOverTheStatusOfAWebhookRollout(t *testing.T) {
	e, m := newRunningOperator(t)
	ctx, stop := context.WithCancel(e.ctx)
	defer stop()
	client := e.olm.WebhookRollouts(e.namespace)
	changed := revert(ctx, e, client.Watch, "operator.v1", func() bool {
		live, err := client.Get(ctx, "operator.v1", metav1.GetOptions{})
		if err != nil || len(live.Status.Conditions) == 0 {
			return false
		}
		live.Status.Conditions = nil
		_, err = client.UpdateStatus(ctx, live, metav1.UpdateOptions{FieldManager: "another"})
		return err == nil
	})
	m.emits("Warning Contested WebhookRollout " + e.namespace + "/operator.v1")
	stop()
	atMostEight(t, <-changed)
}

func TestContestOverTheStatusOfAnOperatorGroup(t *testing.T) {
	e := newGroupEnv(t)
	m := e.manage()
	ctx, stop := context.WithCancel(e.ctx)
	defer stop()
	client := e.olm.OperatorGroups(e.namespace)
	changed := revert(ctx, e, client.Watch, "og", func() bool {
		live, err := client.Get(ctx, "og", metav1.GetOptions{})
		if err != nil || !slices.Equal(live.Status.Namespaces, []string{metav1.NamespaceAll}) {
			return false
		}
		live.Status.Namespaces = []string{"another"}
		_, err = client.UpdateStatus(ctx, live, metav1.UpdateOptions{FieldManager: "another"})
		return err == nil
	})
	m.emits("Warning Contested OperatorGroup " + e.namespace + "/og")
	stop()
	atMostEight(t, <-changed)
}

func atMostEight(t *testing.T, n int) {
	t.Helper()
	if n > 8 {
		t.Errorf("the status was written and reverted %d times before the manager paused, want at most 8", n)
	}
}

type watchFunc func(context.Context, metav1.ListOptions) (watch.Interface, error)

// revert calls a function at each change of an object until the context ends. It then returns how often
// the function reverted what the manager wrote.
func revert(ctx context.Context, e *env, start watchFunc, name string, do func() (reverted bool)) <-chan int {
	e.Helper()
	changed := make(chan int, 1)
	events, err := start(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: name}))
	e.must(err)
	go func() {
		n := 0
		defer func() { changed <- n }()
		for range events.ResultChan() {
			if do() {
				n++
			}
		}
	}()
	return changed
}
