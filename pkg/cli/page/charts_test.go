package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/chart"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// factsOf lists what a chart shows: times are relative to now.
func factsOf(c chart.Chart) []string {
	var all []string
	since := func(at time.Time) string { return strings.Replace(at.Sub(now).String(), "h0m0s", "h", 1) }
	for _, row := range c.Rows {
		for _, b := range row.Bars {
			all = append(all, fmt.Sprintf("%s: %s to %s %s, %s", row.Name, since(b.From), since(b.To), b.Text, b.Color))
		}
		for _, i := range row.Instants {
			all = append(all, fmt.Sprintf("%s: %s %s, %s", row.Name, since(i.At), i.Text, i.Color))
		}
		if row.Unknown != "" {
			all = append(all, row.Name+": "+row.Unknown)
		}
	}
	return all
}

// The chart of a rollout has the times that the cluster records.
func TestRollout(t *testing.T) {
	p := New(shop(t), History{}, now)
	installtest.Same(t, "of a webhook that serves", []string{
		"ClusterServiceVersion: -1h0m12s to -1h0m10s Pending, wait",
		"ClusterServiceVersion: -1h0m10s to 0s Installing, wait",
		"Deployment manager: -1h0m9s to -1h0m3s not available yet, wait",
		"Deployment manager: -1h0m3s to 0s available, good",
		"Deployment manager: -1h0m3s revision 1 of the pods is complete, good",
		"certificate: -1h0m9s to 0s generation 1, good",
		"probe and test review: -1h0m3s to -1h0m1s not recorded, unknown",
		"registration: -1h0m1s to -1h registered; its state is not recorded, unknown",
		"registration: -1h to 0s Registered, good",
		"registration: -1h0m1s the registration was created, good",
		"events: -1m0s WebhookUnreachable: no endpoint answers, bad",
		"events: -1h WebhookRegistered: webhook v.shop.io is registered and serves, idle",
	}, factsOf(p.Webhooks[0].Rollout))
	installtest.Same(t, "of a webhook that waits", []string{
		"Deployment worker: it does not exist",
		"probe and test review: not started",
		"registration: not recorded",
	}, lists.Filter(factsOf(p.Webhooks[2].Rollout), func(fact string) bool {
		return !strings.HasPrefix(fact, "ClusterServiceVersion") && !strings.HasPrefix(fact, "events")
	}))
	installtest.Same(t, "of another owner", true, p.Webhooks[3].Rollout.Empty())
}

// What the cluster does not record is shown as not recorded.
func TestRolloutOfWhatIsNotRecorded(t *testing.T) {
	webhook := func(f *Facts) *managerv1alpha1.WebhookStatus { return &f.Rollouts[0].Status.Deployments[0].Webhooks[0] }
	certificate := func(f *Facts) *managerv1alpha1.CertificateStatus {
		return f.Rollouts[0].Status.Deployments[0].Certificate
	}
	available := func(f *Facts) *appsv1.DeploymentCondition { return &f.Deployments[0].Status.Conditions[0] }
	for name, test := range map[string]struct {
		change func(*Facts)
		row    string
		want   []string
	}{
		"the Deployment lost availability after the registration": {
			func(f *Facts) {
				available(f).Status, available(f).LastTransitionTime = corev1.ConditionFalse, *ago(time.Minute)
			}, "Deployment manager: -",
			[]string{"-1h0m9s to -1m0s not recorded, unknown", "-1m0s to 0s not available, bad", "-1h0m3s revision 1 of the pods is complete, good"},
		},
		"the Deployment is available again": {
			func(f *Facts) { available(f).LastTransitionTime = *ago(time.Minute) }, "Deployment manager: -",
			[]string{"-1h0m9s to -1m0s not recorded, unknown", "-1m0s to 0s available, good", "-1h0m3s revision 1 of the pods is complete, good"},
		},
		"a new Deployment": {
			func(f *Facts) {
				f.Webhooks = f.Webhooks[:3]
				available(f).Status, available(f).LastTransitionTime = corev1.ConditionFalse, *ago(time.Hour + 8*time.Second)
				f.Deployments[0].Status.Conditions[1].Reason = "ProgressDeadlineExceeded"
			}, "Deployment manager: -",
			[]string{"-1h0m9s to 0s not available yet, wait", "-1h0m3s the progress deadline is exceeded, bad"},
		},
		"a Deployment without conditions": {
			func(f *Facts) { f.Deployments[0].Status.Conditions = nil }, "Deployment manager: -",
			[]string{"-1h0m9s to 0s not available yet, wait"},
		},
		"Deployments may not be listed": {
			func(f *Facts) { f.Deployments, f.DeploymentsUnread = nil, "forbidden" }, "Deployment manager: ", []string{"not shown: forbidden"},
		},
		"the Deployment waits for another one": {
			func(f *Facts) {
				f.Deployments, f.Rollouts[0].Status.Deployments[0].State = nil, managerv1alpha1.DeploymentPending
			}, "Deployment manager: ", []string{"not created yet"},
		},
		"without a Deployment, the time of the probe has no start": {
			func(f *Facts) { f.Deployments = nil }, "probe and test review: ", []string{"not recorded"},
		},
		"the probe of a webhook that waits for it": {
			func(f *Facts) {
				webhook(f).State, webhook(f).Reason, f.Webhooks = managerv1alpha1.WebhookWaiting, "Refused", f.Webhooks[:3]
			}, "probe and test review: ", []string{"Refused; since when is not recorded"},
		},
		"an expired certificate": {
			func(f *Facts) { certificate(f).NotAfter = ago(time.Minute) }, "certificate: -",
			[]string{"-1h0m9s to -1m0s generation 1, good", "-1m0s to 0s expired, bad"},
		},
		"a later generation": {
			func(f *Facts) { certificate(f).Generation, certificate(f).LastUpdateTime = 2, ago(time.Minute) }, "certificate: -",
			[]string{"-1h0m12s to -1m0s earlier generations: not recorded, unknown", "-1m0s to 0s generation 2, good"},
		},
		"a certificate of another client": {
			func(f *Facts) { certificate(f).LastUpdateTime = nil }, "certificate: ", []string{"another client wrote it at a time that is not recorded"},
		},
		"unreachable since a minute": {
			func(f *Facts) {
				webhook(f).State, webhook(f).LastTransitionTime = managerv1alpha1.WebhookUnreachable, ago(time.Minute)
			}, "registration: -",
			[]string{"-1h0m1s to -1m0s registered; its state is not recorded, unknown", "-1m0s to 0s Unreachable, bad", "-1h0m1s the registration was created, good"},
		},
		"a registration that was recreated": {
			func(f *Facts) { f.Webhooks[3].Written = now.Add(-time.Minute) }, "registration: -",
			[]string{"-1h to 0s Registered, good", "-1m0s the registration was created, good"},
		},
		"no time of the state": {
			func(f *Facts) { webhook(f).LastTransitionTime, f.Webhooks[3].Written = nil, time.Time{} }, "registration: ", []string{"not recorded"},
		},
		"a ClusterServiceVersion with many conditions": {
			func(f *Facts) {
				status := &f.CSVs[0].Status
				for range operatorsv1alpha1.ConditionsLengthLimit {
					status.Conditions = append(status.Conditions, status.Conditions[2])
				}
				status.Conditions = status.Conditions[2:]
			}, "ClusterServiceVersion: -",
			[]string{"-1h0m12s to -1h0m10s not recorded, unknown", "-1h0m10s to 0s Installing, wait"},
		},
		"a ClusterServiceVersion without conditions": {
			func(f *Facts) { f.CSVs[0].Status.Conditions = nil }, "ClusterServiceVersion: -", []string{"-1h0m12s to 0s no phase, wait"},
		},
	} {
		f := shop(t)
		test.change(&f)
		prefix := strings.TrimSuffix(test.row, "-")
		installtest.Same(t, name, test.want, lists.Map(
			lists.Filter(factsOf(New(f, History{}, now).Webhooks[0].Rollout), func(fact string) bool { return strings.HasPrefix(fact, test.row) }),
			func(fact string) string { return strings.TrimPrefix(fact, prefix) }))
	}
}

// The command observes the results of a probe that does not pass at once.
func TestRolloutObserved(t *testing.T) {
	f := shop(t)
	f.Webhooks = f.Webhooks[:3]
	webhook := &f.Rollouts[0].Status.Deployments[0].Webhooks[0]
	h, at := History{}, now.Add(-4*time.Second)
	for _, step := range []struct {
		state  managerv1alpha1.WebhookState
		reason string
	}{{"Waiting", "DeploymentNotAvailable"}, {"Waiting", "Refused"}, {"Waiting", "NoReview"}, {"Waiting", "Registering"}, {"Registered", "Serving"}} {
		webhook.State, webhook.Reason = step.state, step.reason
		h = h.Add(f, at)
		at = at.Add(time.Second)
	}
	installtest.Same(t, "probes", []string{"probe and test review: -3s to -2s Refused, wait", "probe and test review: -2s to -1s NoReview, wait"},
		lists.Filter(factsOf(New(f, h, now).Webhooks[0].Rollout), func(fact string) bool { return strings.HasPrefix(fact, "probe") }))
}

// Of a conversion, the cluster records the last write only.
func TestRolloutOfAConversion(t *testing.T) {
	f := shop(t)
	f.Webhooks[0].Written = now.Add(-time.Minute)
	facts := factsOf(New(f, History{}, now).Webhooks[1].Rollout)
	installtest.Same(t, "registration", []string{"registration: -1h to 0s Registered, good", "registration: -1m0s spec.conversion was written last, good"},
		lists.Filter(facts, func(fact string) bool { return strings.HasPrefix(fact, "registration") }))
}

func TestValidity(t *testing.T) {
	f := shop(t)
	ca := digestOf(f.Webhooks[3].CABundle)
	w := New(f, History{}, now).Webhooks[0]
	installtest.Same(t, "of a declared webhook", []string{
		"serving certificate: -720h to 720h valid, s0", "serving certificate: 720h to 1440h due for renewal, wait", "trusted CA " + ca[:8] + ": -720h to 8040h valid, s0",
	}, factsOf(w.Certificates))

	c := f.Rollouts[0].Status.Deployments[0].Certificate
	c.NotBefore, c.NotAfter, c.RenewalTime = ago(3*time.Hour), ago(time.Hour), ago(2*time.Hour)
	f.Webhooks[3].CABundle = caOf(t, 2, now.Add(-4*time.Hour), now.Add(-time.Minute))
	installtest.Same(t, "that expired", []string{
		"serving certificate: -3h to -2h valid, s1", "serving certificate: -2h to -1h due for renewal, wait", "serving certificate: -1h to 0s expired, bad",
		"trusted CA " + digestOf(f.Webhooks[3].CABundle)[:8] + ": -4h to -1m0s valid, s0", "trusted CA " + digestOf(f.Webhooks[3].CABundle)[:8] + ": -1m0s to 0s expired, bad",
	}, factsOf(New(f, History{}, now).Webhooks[0].Certificates))

	f = shop(t)
	f.Rollouts, f.CSVs, f.Webhooks = nil, nil, f.Webhooks[3:]
	f.Answers[f.Webhooks[0].String()] = []doctor.Answer{
		{Endpoint: "pod a", Asked: true, Certificate: "0123456789", CA: ca, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)},
		{Endpoint: "pod b", Asked: true, Certificate: "0123456789", CA: ca, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)},
		{Endpoint: "pod c", Asked: true, Reason: "ForeignCertificate"},
	}
	installtest.Same(t, "of another owner, as its pods present it", []string{
		"certificate 01234567: -1h to 1h valid, served by pod a, s0", "trusted CA " + ca[:8] + ": -720h to 8040h valid, s0",
	}, factsOf(New(f, History{}, now).Webhooks[0].Certificates))
}

func TestRotation(t *testing.T) {
	f := shop(t)
	certificate := f.Rollouts[0].Status.Deployments[0].Certificate
	first, second := f.Webhooks[3].CABundle, caOf(t, 2, now, now.Add(time.Hour))
	one, two := digestOf(first), digestOf(second)
	both := slices.Concat(first, second)
	answer := func(pod, ca string) doctor.Answer {
		return doctor.Answer{Endpoint: "pod " + pod, Asked: true, Certificate: "leaf-of-" + ca, CA: ca}
	}
	h, at := History{}, now.Add(-6*time.Second)
	for i, step := range []struct {
		phase   managerv1alpha1.CertificatePhase
		bundle  []byte
		current string
		pods    *managerv1alpha1.CertificateEndpoints
		served  [2]string
	}{
		{"Stable", first, one, nil, [2]string{one, one}}, {"Stable", first, one, nil, [2]string{one, one}},
		{"Distributing", both, one, nil, [2]string{one, one}},
		{"Promoting", both, two, &managerv1alpha1.CertificateEndpoints{Total: 2, Updated: 1, Outdated: 1}, [2]string{one, two}},
		{"Promoting", both, two, &managerv1alpha1.CertificateEndpoints{Total: 2, Updated: 2}, [2]string{two, two}},
		{"Stable", second, two, nil, [2]string{two, two}}, {"Stable", second, two, nil, [2]string{two, two}},
	} {
		certificate.Phase, certificate.Endpoints, certificate.CAFingerprint, certificate.Generation = step.phase, step.pods, step.current, int64(min(i/3, 1))+1
		certificate.LastUpdateTime = ago(3 * time.Second)
		f.Webhooks[3].CABundle, f.Webhooks[0].CABundle = step.bundle, step.bundle
		f.Answers[f.Webhooks[3].String()] = []doctor.Answer{answer("b", step.served[1]), answer("a", step.served[0]), {Endpoint: "pod c"}}
		f.Latencies = Latencies{{"v.shop.io", "validating"}: {Calls: uint64(100 * i), Failed: uint64(i / 5)}}
		f.LatenciesAt = at
		h = h.Add(f, at)
		at = at.Add(time.Second)
	}
	a, b := one[:8], two[:8]
	installtest.Same(t, "rotation", []string{
		"phase: -6s to -4s Stable, idle", "phase: -4s to -3s Distributing, wait", "phase: -3s to -1s Promoting, next", "phase: -1s to 0s Stable, idle",
		"caBundle trusts CA: -6s to -4s " + a + ", s0", "caBundle trusts CA: -4s to -1s " + a + " and " + b + ", mixed", "caBundle trusts CA: -1s to 0s " + b + ", s1",
		"CA of the certificate: -6s to -3s 1 (" + a + "), s0", "CA of the certificate: -3s to 0s 2 (" + b + "), s1",
		"pod a: -6s to -2s leaf-of- of " + a + ", s0", "pod a: -2s to 0s leaf-of- of " + b + ", s1",
		"pod b: -6s to -3s leaf-of- of " + a + ", s0", "pod b: -3s to 0s leaf-of- of " + b + ", s1",
		"pods, by the manager: -3s to -2s 1/2 new, 1 old, 0 unknown, idle", "pods, by the manager: -2s to -1s 2/2 new, 0 old, 0 unknown, idle",
		"calls of the webhook: -4s to -3s 100, 0 failed, idle", "calls of the webhook: -3s to -2s 100, 0 failed, idle", "calls of the webhook: -2s to -1s 100, 1 failed, bad",
	}, factsOf(New(f, h, now).Webhooks[0].Rotation))
	installtest.Same(t, "without a change there is no chart", true, New(shop(t), History{}.Add(shop(t), now), now).Webhooks[0].Rotation.Empty())
}

// Before the command began, events report the phases. Events of other Deployments, and lost ones, are not guessed.
func TestRotationByEvents(t *testing.T) {
	f := shop(t)
	event := func(before time.Duration, phase, message string) corev1.Event {
		return corev1.Event{InvolvedObject: f.Events[0].InvolvedObject, Reason: "Certificate" + phase, Message: message, LastTimestamp: *ago(before)}
	}
	f.Events = []corev1.Event{
		event(10*time.Minute, "Distributing", "the webhooks of deployment manager are made to trust the certificate that follows generation 1"),
		event(9*time.Minute, "Promoting", "the pods of deployment manager are given certificate generation 2; the CAs"),
		event(8*time.Minute, "Distributing", "the webhooks of deployment manager-2 are made to trust"),
		event(7*time.Minute, "Retiring", "the webhooks of deployment manager are made to trust the CA"),
	}
	phases := func(h History) []string {
		return lists.Filter(factsOf(New(f, h, now).Webhooks[0].Rotation), func(fact string) bool { return strings.HasPrefix(fact, "phase") })
	}
	installtest.Same(t, "the event of the current phase is lost", []string{
		"phase: -10m0s to -9m0s Distributing, wait", "phase: -9m0s to -7m0s Promoting, next", "phase: -7m0s to 0s Retiring, or a later phase, unknown",
	}, phases(History{}))
	f.Events = append(f.Events, event(6*time.Minute, "Stable", "deployment manager has certificate generation 2, and nothing else is trusted"))
	installtest.Same(t, "with observations", []string{
		"phase: -10m0s to -9m0s Distributing, wait", "phase: -9m0s to -7m0s Promoting, next", "phase: -7m0s to -6m0s Retiring, good", "phase: -6m0s to -1m0s Stable, idle",
	}, phases(History{}.Add(f, now.Add(-2*time.Minute)).Add(f, now.Add(-time.Minute))))
}

// A phase that is shorter than the time between two observations is that of its event.
func TestRotationWithShortPhases(t *testing.T) {
	f := shop(t)
	certificate := f.Rollouts[0].Status.Deployments[0].Certificate
	h := History{}
	for i, phase := range []managerv1alpha1.CertificatePhase{"Stable", "Distributing", "Stable", "Stable"} {
		certificate.Phase = phase
		h = h.Add(f, now.Add(time.Duration(10*i-30)*time.Second))
	}
	f.Events = nil
	for phase, at := range map[string]time.Duration{"Stable": 11 * time.Second, "Retiring": 11 * time.Second, "Promoting": 12 * time.Second, "Distributing": 20 * time.Second} {
		f.Events = append(f.Events, corev1.Event{
			InvolvedObject: corev1.ObjectReference{Namespace: "shop", Name: "shop.v1"}, Reason: "Certificate" + phase,
			Message: "the pods of deployment manager are", LastTimestamp: *ago(at),
		})
	}
	installtest.Same(t, "phases", []string{
		"phase: -30s to -20s Stable, idle", "phase: -20s to -12s Distributing, wait", "phase: -12s to -11s Promoting, next",
		"phase: -11s to -10s Retiring, good", "phase: -10s to 0s Stable, idle",
	}, lists.Filter(factsOf(New(f, h, now).Webhooks[0].Rotation), func(fact string) bool { return strings.HasPrefix(fact, "phase") }))
}

// The metrics have no count of a webhook that was not called yet.
func TestFirstCalls(t *testing.T) {
	key := latencyKey{"v", "validating"}
	before := Facts{Measurements: Measurements{Latencies: Latencies{}, LatenciesAt: now}}
	after := Facts{Measurements: Measurements{Latencies: Latencies{key: {Calls: 5}}, LatenciesAt: now.Add(time.Second)}}
	installtest.Same(t, "counts", fmt.Sprint([]callCount{{now, 0, 0}, {now.Add(time.Second), 5, 0}}), fmt.Sprint(History{}.Add(before, now).Add(before, now).Add(after, now).calls[key]))
	installtest.Same(t, "counts of a first reading", 1, len(History{}.Add(after, now).calls[key]))
}

// The clients of an API server that restarts, or of another one, begin to count again.
func TestCallsOfAnotherProcess(t *testing.T) {
	key := latencyKey{"v", "validating"}
	h := History{}
	for i, calls := range []uint64{10, 20, 5, 5} {
		f := Facts{Measurements: Measurements{Latencies: Latencies{key: {Calls: calls}}, LatenciesAt: now.Add(time.Duration(min(i, 2)) * time.Second)}}
		h = h.Add(f, now)
	}
	installtest.Same(t, "counts", fmt.Sprint([]callCount{{now.Add(2 * time.Second), 5, 0}}), fmt.Sprint(h.calls[key]))
}
