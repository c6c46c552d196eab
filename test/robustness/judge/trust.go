package judge

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

type reporter = func(object history.Ref, format string, args ...any)

// learns is how long the manager may not know of a new endpoint. Endpoints that are added after a registration are called
// without a handshake, too.
const learns = 5 * time.Second

// registersAfterProof is I1.
func registersAfterProof(c *cluster, e history.Event, report reporter) {
	w := e.Write
	if w == nil || !c.is(w.Client, history.Manager) {
		return
	}
	before := c.registrationsOf(w.Object, w.Before)
	for _, r := range c.registrationsOf(w.Object, w.After) {
		if _, existed := find(before, r.webhook); existed {
			continue
		}
		pods := c.serving(r.service)
		if len(pods) == 0 {
			report(r.object, "%s is registered, and no pod serves", cmp.Or(r.webhook, r.service.Name))
		}
		for _, p := range pods {
			if err := verify(r.caBundle, p.Certificate, r.service, e.At); err != nil {
				report(r.object, "%s is registered, and %s serves another certificate: %v", cmp.Or(r.webhook, r.service.Name), p.Pod, err)
			} else if !p.verified && e.At.Sub(p.listed) > learns {
				report(r.object, "%s is registered without a handshake with %s", cmp.Or(r.webhook, r.service.Name), p.Pod)
			}
		}
		c.scopeIsLabelled(r, report)
	}
}

// scopeIsLabelled requires that the selector of a registration matches all namespaces of its OperatorGroup.
func (c *cluster) scopeIsLabelled(r registration, report reporter) {
	if r.admission == nil || r.admission.NamespaceSelector == nil {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(r.admission.NamespaceSelector)
	if err != nil {
		report(r.object, "the namespaceSelector of %s: %v", r.webhook, err)
		return
	}
	for _, namespace := range c.scope(r.service.Namespace) {
		var parsed metav1.PartialObjectMetadata
		object, exists := c.objects[history.Ref{Kind: "Namespace", Name: namespace}]
		if exists && into(object, &parsed) && !selector.Matches(labels.Set(parsed.Labels)) {
			report(r.object, "%s is registered, and Namespace %s lacks the label of its scope", r.webhook, namespace)
		}
	}
}

// scope returns the namespaces of the OperatorGroup of a namespace; none if it has all, or there is none.
func (c *cluster) scope(namespace string) []string {
	for ref, object := range c.objects {
		var group struct {
			Status struct {
				Namespaces []string `json:"namespaces"`
			} `json:"status"`
		}
		if ref.Kind == "OperatorGroup" && ref.Namespace == namespace && into(object, &group) && len(group.Status.Namespaces) > 0 && group.Status.Namespaces[0] != "" {
			return group.Status.Namespaces
		}
	}
	return nil
}

// trustsPods is I2. It concerns what the manager has written.
func trustsPods(c *cluster, e history.Event, report reporter) {
	if e.Write == nil && e.View == nil && e.Serving == nil {
		return
	}
	for key := range c.managed {
		for server, content := range c.used(key) {
			for _, r := range content {
				c.trustsEach(r, server, e.At, report)
			}
		}
	}
}

func (c *cluster) trustsEach(r registration, server string, at time.Time, report reporter) {
	for _, p := range c.serving(r.service) {
		if c.holds(history.Outage, at, r.object, p.Pod) {
			continue
		}
		if err := c.verify(r, p, at); err != nil {
			report(r.object, "API server %q does not trust what %s serves for %s: %v", server, p.Pod, r.service, err)
		}
	}
}

// verify remembers for an hour whether a registration verifies the certificate of a pod: it is asked at each event.
func (c *cluster) verify(r registration, p served, at time.Time) error {
	question := verification{string(r.caBundle), p.Certificate, r.service, at.Truncate(time.Hour)}
	err, known := c.verified[question]
	if !known {
		err = verify(r.caBundle, p.Certificate, r.service, at)
		c.verified[question] = err
	}
	return err
}

// liveFor is how old a live read may be: each of the requests after it may be slow.
const liveFor = 30 * time.Second

// restsOnLiveReads is I3. A manager may complete what another one decided: the reads of all of them count.
func restsOnLiveReads(c *cluster, e history.Event, report reporter) {
	w := e.Write
	if w == nil || w.Before == nil || w.After == nil || !c.is(w.Client, history.Manager) {
		return
	}
	read := func(kind, namespace string) bool {
		at, ever := c.reads[reading{kind, namespace}]
		all, everywhere := c.reads[reading{kind, ""}]
		return ever && e.At.Sub(at) <= liveFor || everywhere && e.At.Sub(all) <= liveFor
	}
	for _, r := range c.registrationsOf(w.Object, w.After) {
		before, existed := find(c.registrationsOf(w.Object, w.Before), r.webhook)
		if existed && len(removed(before.caBundle, r.caBundle)) > 0 && !read("Pod", r.service.Namespace) {
			report(w.Object, "a CA of %s is removed, and no manager has read the pods within %s", cmp.Or(r.webhook, r.service.Name), liveFor)
		}
	}
	if w.Object.Kind == "Secret" && dataOf(w.Before)["tls.crt"] != dataOf(w.After)["tls.crt"] && !read("Secret", w.Object.Namespace) {
		report(w.Object, "pods get another certificate, and no manager has read the Secret within %s", liveFor)
	}
}

// dataOf returns the data of a Secret, decoded.
func dataOf(secret history.Object) map[string]string {
	var parsed struct {
		Data map[string][]byte `json:"data"`
	}
	into(secret, &parsed)
	all := map[string]string{}
	for key, value := range parsed.Data {
		all[key] = string(value)
	}
	return all
}
