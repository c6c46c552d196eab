package integration

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/audit"
	clusterpkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The backend is lost again between two dry runs of a replay. The webhook refused the first object. The second dry run passes
// without its answer, and does not count as admitted.
func TestAuditReplayWhileAWebhookOpens(t *testing.T) {
	for name, test := range map[string]struct {
		// before is done before the second dry run, and after when it is answered.
		before, after func(*interrupted)
		// second is the result of the second object, and failed the error of the replay.
		second audit.Result
		failed string
	}{
		"it stays closed":                  {nothing, nothing, audit.Refused, ""},
		"it is open at the end":            {(*interrupted).reopens, nothing, audit.NotJudged, ""},
		"it is closed at the end":          {(*interrupted).reopens, (*interrupted).closes, audit.NotJudged, ""},
		"it cannot be read at the end":     {(*interrupted).reopens, (*interrupted).hides, audit.NotJudged, "no WebhookRollouts"},
		"it is not registered at the end":  {(*interrupted).reopens, (*interrupted).unregisters, audit.NotJudged, ""},
		"its record is deleted at the end": {(*interrupted).reopens, (*interrupted).deletesRecord, audit.NotJudged, ""},
	} {
		t.Run(name, func(t *testing.T) {
			i := newInterrupted(newParallelEnv(t))
			i.before, i.after = test.before, test.after
			facts, admission, err := i.reader.Audit(i.ctx, metav1.NamespaceAll, []string{i.validating()})
			i.must(err)
			report := audit.List(facts)
			err = i.reader.Replay(i.ctx, admission, &report)
			installtest.Error(t, test.failed, err)
			same(t, "dry runs", i.dryRuns, 2)
			results := map[string]audit.Result{}
			for _, e := range report.Entries {
				results[e.Name] = e.Replay.Result
			}
			same(t, "results", results, map[string]audit.Result{"first": audit.Refused, "second": test.second})
		})
	}
}

// interrupted is an openable with two bad objects that passed in an opening, and a reader whose replay something interrupts.
type interrupted struct {
	*openable
	reader        *clusterpkg.Cluster
	before, after func(*interrupted)
	dryRuns       int
	hidden        bool // the WebhookRollouts cannot be read
}

func nothing(*interrupted) {}

func newInterrupted(e *env) *interrupted {
	e.Helper()
	i := &interrupted{openable: newOpenable(e)}
	config := cluster.Config()
	config.Wrap(i.through)
	i.reader = installtest.OrPanic(clusterpkg.New(config))
	_, err := e.any.Resource(clusterpkg.Namespaces).Patch(e.ctx, e.namespace, "application/merge-patch+json", []byte(`{"metadata":{"labels":{"openable":"`+e.namespace+`"}}}`), metav1.PatchOptions{})
	e.must(err)
	e.eventually("the webhook refuses", func() (bool, any) {
		err := i.probe()
		return err != nil && strings.Contains(err.Error(), "the mode is bad"), err
	})
	i.opens(managerv1alpha1.FailOpenAll)
	for _, name := range []string{"first", "second"} {
		o := configMap(e.namespace, name, badMode)
		_, err := clientFor(e.any, o).Create(e.ctx, o, metav1.CreateOptions{})
		e.must(err)
	}
	i.closes()
	return i
}

// reopens lets a second pass first: the times of openings are whole seconds.
func (i *interrupted) reopens() {
	i.isLater(time.Now())
	i.opens(managerv1alpha1.FailOpenAll)
}

func (i *interrupted) hides() { i.hidden = true }

func (i *interrupted) unregisters() {
	i.must(i.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(i.ctx, "openable-"+i.namespace, metav1.DeleteOptions{}))
}

func (i *interrupted) deletesRecord() {
	i.closes()
	i.must(i.olm.WebhookRollouts(i.namespace).Delete(i.ctx, i.rollout.Name, metav1.DeleteOptions{}))
}

func (i *interrupted) through(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if i.hidden && strings.HasSuffix(r.URL.Path, "/webhookrollouts") {
			return nil, errors.New("no WebhookRollouts")
		}
		if !r.URL.Query().Has("dryRun") {
			return next.RoundTrip(r)
		}
		i.dryRuns++
		if i.dryRuns < 2 {
			return next.RoundTrip(r)
		}
		i.before(i)
		response, err := next.RoundTrip(r)
		i.after(i)
		return response, err
	})
}
