package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/audit"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// Replay sends the existing objects of a report as dry runs, and adds the results to the report. The snapshot is that of
// Audit. The webhooks are read again at the end: one that has opened in the meantime did not judge.
func (c *Cluster) Replay(ctx context.Context, s explain.Snapshot, report *audit.Report) error {
	r, err := c.replayer(ctx, s)
	if err == nil {
		err = r.all(ctx, report)
	}
	after, _, unread := audited(ctx, c, metav1.NamespaceAll, nil)
	if unread != nil {
		after = nil
	}
	report.Doubt(after)
	return errors.Join(err, unread)
}

// replayer sends dry runs as one user.
type replayer struct {
	cluster    *Cluster
	client     dynamic.Interface
	admission  explain.Snapshot
	user       explain.User
	aggregated map[schema.GroupVersion]bool
}

func (c *Cluster) replayer(ctx context.Context, s explain.Snapshot) (*replayer, error) {
	config := rest.CopyConfig(c.Config)
	config.Wrap(onlyDryRuns)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if err := addPolicies(ctx, c, &s); err != nil {
		return nil, err
	}
	user, err := c.CurrentUser(ctx)
	if err != nil {
		return nil, err
	}
	aggregated, err := c.aggregated(ctx)
	return &replayer{c, client, s, user, aggregated}, err
}

// onlyDryRuns returns a RoundTripper that sends no write except dry runs.
func onlyDryRuns(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet && request.URL.Query().Get("dryRun") != metav1.DryRunAll {
			return nil, fmt.Errorf("%s %s is no dry run", request.Method, request.URL.Path)
		}
		return next.RoundTrip(request)
	})
}

func (r *replayer) all(ctx context.Context, report *audit.Report) error {
	for i := range report.Entries {
		entry := &report.Entries[i]
		if entry.State != audit.Exists {
			continue
		}
		result, err := r.replay(ctx, report.OfWebhook(*entry), *entry)
		if err != nil {
			return err
		}
		entry.Replay = &result
	}
	return nil
}

func (r *replayer) replay(ctx context.Context, w audit.Webhook, e audit.Entry) (audit.Replay, error) {
	if r.aggregated[e.Object.Resource.GroupVersion()] {
		return notJudged("an aggregated API server serves the resource: it may not know dry runs"), nil
	}
	attempts, none := w.Attempts(e)
	results := lists.FilterMap([]string{none}, func(why string) (audit.Replay, bool) { return notJudged(why), why != "" })
	for _, a := range attempts {
		result, err := r.try(ctx, w, *e.Object, a)
		if err != nil {
			return audit.Replay{}, err
		}
		results = append(results, result)
	}
	return audit.Worst(results), nil
}

func notJudged(why string) audit.Replay { return audit.Replay{Result: audit.NotJudged, Message: why} }

// try sends one dry run. It returns an error only if the context ends.
func (r *replayer) try(ctx context.Context, w audit.Webhook, o audit.Object, a audit.Attempt) (result audit.Replay, err error) {
	of := r.client.Resource(o.Resource.GroupVersionResource).Namespace(o.Namespace)
	var subresources []string
	if a.Subresource != "" {
		subresources = []string{a.Subresource}
	}
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		stored, err := of.Get(ctx, o.Name, metav1.GetOptions{}, subresources...)
		if err != nil {
			return err
		}
		if stored.GetUID() != o.UID {
			return apierrors.NewNotFound(o.Resource.GroupResource(), o.Name)
		}
		sent := a.Sent(stored)
		why, others, err := r.unseen(ctx, w, o, a, sent, stored)
		if err != nil || why != "" {
			result = notJudged(why)
			return err
		}
		answer, err := send(ctx, of, a, sent, subresources)
		if apierrors.IsConflict(err) {
			return err
		}
		if result = w.Judge(a, sent, answer, err); result.Result == audit.Changed {
			result.Others = others
		}
		return nil
	})
	if err != nil {
		result = notJudged(err.Error())
	}
	return result, ctx.Err()
}

// unseen returns why the webhook does not see the dry run; empty if it does.
func (r *replayer) unseen(ctx context.Context, w audit.Webhook, o audit.Object, a audit.Attempt, sent, stored *unstructured.Unstructured) (why string, others []string, err error) {
	resource := o.Resource
	resource.Subresource = a.Subresource
	request := explain.Request{Operation: a.Operation, Object: sent, Resource: resource, User: r.user}
	if a.Operation == admissionregistrationv1.Update {
		request.Old = stored
	}
	explanation, err := r.cluster.Explain(ctx, r.admission, request)
	if err != nil {
		return "", nil, err
	}
	why, others = w.Unseen(explanation)
	return why, others, nil
}

func send(ctx context.Context, to dynamic.ResourceInterface, a audit.Attempt, o *unstructured.Unstructured, subresources []string) (*unstructured.Unstructured, error) {
	if a.Operation == admissionregistrationv1.Create {
		return to.Create(ctx, o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	return to.Update(ctx, o, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}, subresources...)
}
