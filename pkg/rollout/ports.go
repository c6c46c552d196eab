package rollout

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

type ports struct {
	*facts
	probes  *probes
	plan    *planBuilder
	blocked map[portKey]blockedPort // ports with another target than desired
}

// Each Service keeps the ports that live registrations call and that an edit removes or retargets, until API
// servers call the new port. waits is why no edit may take effect now; empty if it may.
func (k *ports) keepPorts(waits string) {
	if k.Policy.Gate != GateServing || len(k.Upgrade.From) > 0 {
		return
	}
	k.blocked = map[portKey]blockedPort{}
	decided := map[string]bool{} // a maintained Deployment may be desired, too
	for _, all := range []*[]render.Deployment{&k.Desired.Deployments, &k.Maintained} {
		*all = slices.Clone(*all)
		for i, d := range *all {
			if d.Service == nil || decided[d.Service.Name] || k.Observed.Services[d.Service.Name] == nil {
				continue
			}
			decided[d.Service.Name] = true
			(*all)[i].Service = k.withKeptPorts(d, k.Observed.Services[d.Service.Name], waits)
		}
	}
}

func (k *ports) withKeptPorts(d render.Deployment, live *corev1.Service, waits string) *corev1.Service {
	before, callers := backends.KeptPortsOf(live), k.callersOf(d)
	record := backends.KeptPorts{Pending: pendingPorts(d, callers)}
	for _, port := range before.Over(live.Spec.Ports) {
		if kept, keeps := k.keptPort(d, live, port, callers, before, waits); keeps {
			record.Kept = append(record.Kept, kept)
		}
	}
	if record.Empty() {
		return d.Service
	}
	service := d.Service.DeepCopy()
	service.Spec.Ports = drift.WithPorts(service.Spec.Ports, record.Ports())
	slices.SortStableFunc(service.Spec.Ports, func(a, b corev1.ServicePort) int { return int(a.Port - b.Port) })
	service.Annotations = labels.Merge(service.Annotations, map[string]string{wellknown.AnnotationKeptPorts: record.String()})
	return service
}

// keptPort returns the record of a port that keeps its previous target, and whether the port does.
func (k *ports) keptPort(d render.Deployment, live *corev1.Service, port corev1.ServicePort, callers []caller, before backends.KeptPorts, waits string) (backends.KeptPort, bool) {
	record, recorded := before.Find(port.Port)
	desired := slices.IndexFunc(d.Service.Spec.Ports, func(q corev1.ServicePort) bool { return q.Port == port.Port })
	if desired >= 0 && backends.Target(d.Service.Spec.Ports[desired]) == backends.Target(port) {
		return backends.KeptPort{}, false
	}
	kept := backends.KeptPort{Port: port.Port, TargetPort: backends.Target(port)}
	key := portKey{live.Name, port.Port}
	if slices.ContainsFunc(callers, func(c caller) bool { return c.port == port.Port && c.moves() && (desired < 0 || !c.swaps(d, live)) }) {
		kept.Left = true
		k.blocked[key] = blockedPort{managerv1alpha1.ReasonPortCalled, fmt.Sprintf("port %d of service %s leads to port %s of the pods until no registration calls it there", port.Port, live.Name, kept.TargetPort.String())}
		return kept, true
	}
	if desired >= 0 && (recorded && record.Since == nil || drift.SoleOwner(live, targetField(port))) {
		if held := k.unservedTarget(d, d.Service.Spec.Ports[desired], callers, waits); held.reason != "" {
			held.message = fmt.Sprintf("port %s of the pods is called until %s is served: %s", kept.TargetPort.String(), d.Service.Spec.Ports[desired].TargetPort.String(), held.message)
			k.blocked[key] = held
			return kept, true
		}
	}
	return k.keptUntilSettled(kept, record, recorded, key)
}

// keptUntilSettled keeps a port that no registration names any more. The first reconciliation records the time.
func (k *ports) keptUntilSettled(kept, record backends.KeptPort, recorded bool, key portKey) (backends.KeptPort, bool) {
	if !recorded || !record.Left {
		return backends.KeptPort{}, false
	}
	kept.Left, kept.Since = true, record.Since
	if kept.Since == nil || kept.Since.After(k.now) {
		kept.Since = new(k.now.UTC())
	}
	settled := kept.Since.Add(k.Policy.Settle)
	if !k.now.Before(settled) {
		return backends.KeptPort{}, false
	}
	k.plan.requeue(settled, "API servers learn of a port")
	k.blocked[key] = blockedPort{managerv1alpha1.ReasonPortCalled, fmt.Sprintf("some API server may still call port %d", kept.Port)}
	return kept, true
}

// A port without a live registration is free. Otherwise its webhooks must be served at the new target.
func (k *ports) unservedTarget(d render.Deployment, to corev1.ServicePort, callers []caller, waits string) blockedPort {
	for _, c := range callers {
		if c.webhook == nil || c.port != to.Port || c.moves() || !c.edited {
			continue
		}
		if waits != "" {
			return blockedPort{managerv1alpha1.ReasonHeld, waits}
		}
		if reason, message := k.unservedAt(d, *c.webhook, to); reason != "" {
			return blockedPort{reason, message}
		}
	}
	return blockedPort{}
}

// blockedPortOf is empty if the port has the desired target.
func (k *ports) blockedPortOf(d render.Deployment, w render.Webhook) blockedPort {
	return k.blocked[portKey{d.Service.Name, w.Port}]
}

// All pods behind the Service are dialled at the target.
func (k *ports) unservedAt(d render.Deployment, w render.Webhook, to corev1.ServicePort) (reason, message string) {
	if w.Delegated && w.Registration != nil {
		w = registration.WithLiveBundle(w, k.registered(w))
	}
	endpoints, reason, message := k.probes.endpointsAt(d, w, to)
	if reason != "" {
		return reason, message
	}
	k.askToCompare(d, w)
	return k.probes.unanswered(endpoints, k.probes.probePause(w, k.progressOf(d)))
}

// A new port that drops packets is not served if the current one answers. Otherwise the API server would be asked.
func (k *ports) askToCompare(d render.Deployment, w render.Webhook) {
	endpoints, _, _ := k.probes.endpointsOf(d, w)
	for _, e := range endpoints {
		if _, asked := k.Observed.Answers[e]; !asked && !e.Virtual {
			k.plan.probe(e)
		}
	}
}

type blockedPort struct{ reason, message string }

type portKey struct {
	service string
	port    int32
}
