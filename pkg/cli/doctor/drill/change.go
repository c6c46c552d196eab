package drill

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

// ChangeKind is a way to keep a webhook from blocking requests.
type ChangeKind string

// The kinds of changes. The first ones let fewer requests pass unseen.
const (
	NamespaceSelector ChangeKind = "NamespaceSelector"
	ObjectSelector    ChangeKind = "ObjectSelector"
	MatchCondition    ChangeKind = "MatchCondition"
	DisabledWebhooks  ChangeKind = "DisabledWebhooks"
	FailurePolicy     ChangeKind = "FailurePolicy"
)

// Change is a change of one webhook.
type Change struct {
	Kind    ChangeKind `json:"kind"`
	Webhook Part       `json:"webhook"`
	// What is the change for people, Where the object and the field, Command the command that makes the change, if there is one.
	What    string `json:"what"`
	Where   string `json:"where"`
	Command string `json:"command,omitempty"`

	namespaces []string
	key        string   // of a label
	values     []string // of the label
	condition  string
}

// covers reports whether the webhook does not keep a request waiting any more after the change.
func (c Change) covers(r request) bool {
	switch c.Kind {
	case NamespaceSelector:
		return slices.Contains(c.namespaces, r.namespace())
	case ObjectSelector:
		return slices.Contains(c.values, r.object.GetLabels()[c.key])
	case MatchCondition:
		return slices.Contains(r.user.Groups, nodesGroup) && c.condition == notNodes || slices.Contains(c.namespaces, r.namespace())
	default:
		return true
	}
}

const nodesGroup = "system:nodes"

// notNodes is a matchCondition that leaves out the requests of kubelets. API servers omit empty fields of a request, and an
// expression that reads one of these fails: has asks first.
const notNodes = `!(has(request.userInfo.groups) && "system:nodes" in request.userInfo.groups)`

// notIn returns a matchCondition that leaves out requests in Namespaces. A request for a cluster-scoped object has none.
func notIn(namespaces []string) string {
	names := strings.Join(lists.Map(namespaces, strconv.Quote), ", ")
	return "!(has(request.namespace) && request.namespace in [" + names + "])"
}

// registered is a webhook as its configuration has it.
type registered struct {
	webhook admissionregistrationv1.ValidatingWebhook
	index   int
	// owner is the ClusterServiceVersion that declares it; empty for none.
	owner types.NamespacedName
}

// found returns the webhooks of a snapshot by their parts.
func found(s Snapshot) map[Part]registered {
	all := map[Part]registered{}
	for _, c := range s.Admission.MutatingWebhooks {
		for i, w := range webhookconfig.Webhooks(&c) {
			all[Part{Kind: doctor.Mutating, Name: c.Name, Webhook: w.Name}] = registered{w, i, doctor.OwnerOf(c.ObjectMeta)}
		}
	}
	for _, c := range s.Admission.ValidatingWebhooks {
		for i, w := range c.Webhooks {
			all[Part{Kind: doctor.Validating, Name: c.Name, Webhook: w.Name}] = registered{w, i, doctor.OwnerOf(c.ObjectMeta)}
		}
	}
	return all
}

// changesOf are the changes of one webhook that let some of the requests pass.
func (c changer) changesOf(webhook int, blocked []request) []Change {
	w := c.parts[webhook].Part
	at, known := c.found[w]
	if !known {
		return nil
	}
	namespaces := lists.Sorted(lists.Distinct(lists.FilterMap(blocked, func(r request) (string, bool) { return r.namespace(), r.namespace() != "" })))
	if at.owner.Name != "" {
		return at.declared(w, namespaces)
	}
	var all []Change
	if len(namespaces) > 0 {
		all = append(all, Change{Kind: NamespaceSelector, Webhook: w, namespaces: namespaces})
	}
	if key, values := distinctive(blocked); len(values) > 0 {
		all = append(all, Change{Kind: ObjectSelector, Webhook: w, key: key, values: values})
	}
	if slices.ContainsFunc(blocked, func(r request) bool { return slices.Contains(r.user.Groups, nodesGroup) }) {
		all = append(all, Change{Kind: MatchCondition, Webhook: w, condition: notNodes})
	}
	return append(all, Change{Kind: FailurePolicy, Webhook: w})
}

// declared are the changes of a webhook that a ClusterServiceVersion declares: the manager reverts changes of the configuration.
func (r registered) declared(w Part, namespaces []string) []Change {
	all := []Change{{Kind: DisabledWebhooks, Webhook: w}}
	if len(namespaces) > 0 {
		all = append(all, Change{Kind: MatchCondition, Webhook: w, namespaces: namespaces})
	}
	return all
}

// distinctive returns a label by which an objectSelector can leave out objects of requests and few others, with its values.
func distinctive(blocked []request) (key string, values []string) {
	for _, r := range blocked {
		labels := r.object.GetLabels()
		for _, one := range append([]string{"app.kubernetes.io/name", "app", "k8s-app"}, slices.Sorted(maps.Keys(labels))...) {
			value := labels[one]
			isOfController := strings.HasSuffix(one, "-hash") || strings.HasPrefix(one, "kubernetes.io/")
			if value == "" || isOfController || key != "" && key != one {
				continue
			}
			key, values = one, append(values, value)
			break
		}
	}
	return key, lists.Sorted(lists.Distinct(values))
}

// weight is greater for a change that lets more requests pass unseen.
func (c Change) weight() int {
	switch c.Kind {
	case NamespaceSelector:
		return len(c.namespaces)
	case ObjectSelector:
		return 1 + len(c.values)
	case MatchCondition:
		return 3 + len(c.namespaces)
	case DisabledWebhooks:
		return 100
	default:
		return 101
	}
}

// described fills in what the change is for people.
func (r registered) described(c Change) Change {
	names := "Namespace " + strings.Join(c.namespaces, ", ")
	if len(c.namespaces) > 1 {
		names = "Namespaces " + strings.Join(c.namespaces, ", ")
	}
	field := func(name string) string {
		return fmt.Sprintf("%s %s, webhooks[%d].%s", c.Webhook.Kind, c.Webhook.Name, r.index, name)
	}
	switch c.Kind {
	case NamespaceSelector:
		c.What, c.Where = "leave out "+names, field("namespaceSelector")
	case ObjectSelector:
		c.What, c.Where = fmt.Sprintf("leave out objects with the label %s=%s", c.key, strings.Join(c.values, ", ")), field("objectSelector")
	case FailurePolicy:
		c.What, c.Where = "let requests pass that the webhook does not answer", field("failurePolicy")
	case DisabledWebhooks:
		c.What = "disable it"
		c.Where = fmt.Sprintf("annotation olm-webhook-manager.io/disabled-webhooks in spec.config.annotations of the Subscription of ClusterServiceVersion %s: add %s", r.owner, c.Webhook.Webhook)
	case MatchCondition:
		if c.condition != "" {
			c.What, c.Where = "leave out requests of kubelets", field("matchConditions")
			break
		}
		c.What = "leave out " + names
		c.condition = notIn(c.namespaces)
		c.Where = fmt.Sprintf("annotation olm-webhook-manager.io/match-conditions of ClusterServiceVersion %s: add the expression %s to %s", r.owner, c.condition, c.Webhook.Webhook)
	}
	if r.owner.Name == "" {
		c.Command = r.command(c)
	}
	return c
}

func compare(a, b []Change) int {
	weight := func(all []Change) (sum int) {
		for _, c := range all {
			sum += c.weight()
		}
		return sum
	}
	return cmp.Or(len(a)-len(b), weight(a)-weight(b))
}
