package controller

import (
	"context"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/probe"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// ProbeMode says who finds out whether endpoints serve.
type ProbeMode string

// The modes.
const (
	// ProbeDial is the manager itself, and the API server where the manager cannot dial
	// any of them.
	ProbeDial ProbeMode = "dial"
	// ProbeAPIServer is always the API server.
	ProbeAPIServer ProbeMode = "apiserver"
)

// canaryPatience is how long API servers may take to learn of a canary.
const canaryPatience = 5 * time.Second

// throughAPIServer lets the API server call the Service of some endpoints, and answers
// for all of them: which of the pods it reached, nobody can tell.
func (c *prober) throughAPIServer(ctx context.Context, s *snapshot, endpoints []backends.Endpoint, trust []byte) {
	for _, some := range byPort(endpoints) {
		target, paths := serviceOf(some[0]), pathsOf(some)
		found := map[string]probe.Result{}
		result := c.withCanary(ctx, s, some[0], paths, [][]byte{trust}, func(canary *admissionregistrationv1.ValidatingWebhookConfiguration) {
			for i, path := range paths {
				target.Call = callOf(some[slices.IndexFunc(some, func(e backends.Endpoint) bool { return e.Review.Path == path })])
				found[path] = probe.PathFromAPIServer(target, render.CanaryPath(i), c.provoke(ctx, s, canary, render.CanaryPath(i)))
			}
		})
		for _, e := range some {
			answer := answerOf(result)
			if at, asked := found[e.Review.Path]; asked {
				answer = answerOf(at)
			}
			answer.ThroughAPIServer = true
			s.Observed.Answers[e] = answer
		}
	}
}

func byPort(endpoints []backends.Endpoint) map[int32][]backends.Endpoint {
	all := map[int32][]backends.Endpoint{}
	for _, e := range endpoints {
		all[e.Port] = append(all[e.Port], e)
	}
	return all
}

// pathsOf are the paths of the reviews that endpoints are to answer.
func pathsOf(endpoints []backends.Endpoint) []string {
	var paths []string
	for _, e := range endpoints {
		if e.Review.Path != "" && !slices.Contains(paths, e.Review.Path) {
			paths = append(paths, e.Review.Path)
		}
	}
	return paths
}

func serviceOf(e backends.Endpoint) probe.Target {
	return probe.Target{Address: e.ServerName, ServerName: e.ServerName, What: "the Service"}
}

// sendCanary registers a canary for the Service of an endpoint, has it called once under
// each bundle until a call does not come through, and takes the canary away again whatever
// comes of it.
func (c *prober) sendCanary(ctx context.Context, s *snapshot, e backends.Endpoint, bundles ...[]byte) probe.Result {
	return c.withCanary(ctx, s, e, nil, bundles, func(*admissionregistrationv1.ValidatingWebhookConfiguration) {})
}

// withCanary is sendCanary with more paths, and with what to do with the canary once every
// call came through.
func (c *prober) withCanary(ctx context.Context, s *snapshot, e backends.Endpoint, paths []string, bundles [][]byte,
	reached func(*admissionregistrationv1.ValidatingWebhookConfiguration),
) probe.Result {
	target := serviceOf(e)
	canaries := c.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	desired := render.Canary(s.CSV, e.Service, e.Port, bundles...)
	render.AddPaths(desired, paths)
	canary, err := applyWhole(ctx, canaries, desired, nil)
	if err != nil {
		return probe.FromAPIServer(target, render.CanarySeen, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), passTimeout)
		defer cancel()
		if err := deleteExactly(ctx, canaries, canary); err != nil {
			c.log.WithError(err).WithField("canary", canary.Name).Warn("a canary stays until the next look at its ClusterServiceVersion")
		}
	}()
	var refusal error
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, canaryPatience, true, func(ctx context.Context) (bool, error) {
		refusal = c.provoke(ctx, s, canary, render.CanarySeen)
		return refusal != nil && strings.Contains(refusal.Error(), render.CanaryCondition), nil
	})
	if err != nil {
		return probe.FromAPIServer(target, render.CanaryCalled(0), refusal)
	}
	for i := range bundles {
		called := render.CanaryCalled(i)
		if result := probe.FromAPIServer(target, called, c.refusal(ctx, s, canary, called)); result.Reason != probe.Serving {
			return result
		}
	}
	reached(canary)
	return probe.Result{Target: target, Reason: probe.Serving}
}

// refusal is what becomes of a call; nil when nothing refuses it as long as there is
// patience: each request may reach another API server, one that has not learned of the canary
// yet.
func (c *prober) refusal(ctx context.Context, s *snapshot, canary *admissionregistrationv1.ValidatingWebhookConfiguration, webhook string) (refusal error) {
	_ = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, canaryPatience, true, func(context.Context) (bool, error) { // the refusal tells
		refusal = c.provoke(ctx, s, canary, webhook)
		return refusal != nil, nil
	})
	return refusal
}

// provoke asks for what a webhook of the canary matches, and returns the refusal.
func (c *prober) provoke(ctx context.Context, s *snapshot, canary *admissionregistrationv1.ValidatingWebhookConfiguration, webhook string) error {
	_, err := c.OLM.ManagerV1alpha1().WebhookRollouts(s.CSV.Namespace).Create(ctx, render.CanaryObject(canary, webhook),
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: wellknown.FieldManager})
	return err
}
