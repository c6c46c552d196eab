package rollout

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// mayBeCalled tells whether some API server may still call a Deployment that no registration calls any
// more, because it has not learned that the registration is gone. A registration that is gone tells
// nothing: the first look records its time on the Deployment.
func (p *planner) mayBeCalled(live *appsv1.Deployment) bool {
	if p.Policy.Gate == GateAvailable || !p.hasService(live.Name) {
		return false
	}
	since, recorded := p.uncalledSince(live)
	if !recorded {
		return p.want(p.uncalled(live), live)
	}
	settled := since.Add(p.Policy.Settle)
	p.lookAgain(settled)
	return p.now.Before(settled)
}

// hasService tells whether a Service leads to a Deployment.
func (p *planner) hasService(deployment string) bool {
	s := asServed{csv: p.CSV, observed: p.Observed}
	for service := range p.Observed.Services {
		if s.behind(service) == deployment {
			return true
		}
	}
	return false
}

// uncalled is a live Deployment with the record that nothing calls it. The record is of this generation of the
// ClusterServiceVersion: another edit may have had the Deployment called once more since.
func (p *planner) uncalled(live *appsv1.Deployment) *appsv1.Deployment {
	marked := live.DeepCopy()
	if marked.Annotations == nil {
		marked.Annotations = map[string]string{}
	}
	marked.Annotations[wellknown.AnnotationUnused] = p.uncalledPrefix() + p.now.UTC().Format(time.RFC3339Nano)
	return marked
}

// uncalledSince reads the record; recorded is false when there is none of this generation, or one that the
// manager cannot have written.
func (p *planner) uncalledSince(live *appsv1.Deployment) (since time.Time, recorded bool) {
	text, ok := strings.CutPrefix(live.Annotations[wellknown.AnnotationUnused], p.uncalledPrefix())
	since, err := time.Parse(time.RFC3339Nano, text)
	return since, ok && err == nil && !since.After(p.now)
}

func (p *planner) uncalledPrefix() string {
	return fmt.Sprintf("generation %d since ", p.CSV.Generation)
}
