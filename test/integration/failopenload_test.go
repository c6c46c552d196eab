package integration

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	clusterpkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// period is when a request was sent, relative to the opening.
type period int

const (
	never period = iota
	before
	during
	after
)

// loaded is what the load knows of one object: its own list, with which the audit is compared.
type loaded struct {
	*unstructured.Unstructured
	created, deleted period
	generated        bool // its name, which the request did not have
	passed           bool // a request passed in the opening without the webhooks' answer
	// stamps are when each field manager set fields the last time, as metadata.managedFields shows it.
	stamps map[string]period
	// forged reports whether a client removed or changed managedFields.
	forged bool
	// later reports whether it was changed in the opening or after it.
	later bool
	bad   bool // its mode
	label bool // the mutating webhook has seen its present state
}

func (r *loaded) exists() bool { return r.created != never && r.deleted == never }

// certain reports whether the metadata show a change in the opening. The condition of the webhooks depends on the name:
// a mutating webhook does not get a generated one.
func (r *loaded) certain(mutating bool) bool {
	for _, at := range r.stamps {
		if at == during && r.created == before {
			return true
		}
	}
	return r.created == during && !(mutating && r.generated)
}

// load writes objects as several clients.
type load struct {
	*openable
	random  *rand.Rand
	state   managerv1alpha1.FailOpenState
	clients map[string]dynamic.Interface
	now     period
	all     []*loaded
	count   int
	spaces  []string // namespaces in the scope, then one that is not
}

// loadClients are names of field managers. Only nodes pass a partial opening everywhere.
var loadClients = []string{"alpha", "beta", "node"}

func newLoad(o *openable, state managerv1alpha1.FailOpenState) *load {
	o.Helper()
	const seed = 23
	l := &load{openable: o, state: state, random: rand.New(rand.NewPCG(seed, seed)), clients: map[string]dynamic.Interface{}, now: before}
	for _, name := range loadClients {
		config := cluster.Config()
		config.UserAgent = name + "/1"
		groups := []string{"system:masters"}
		if name == "node" {
			groups = append(groups, "system:nodes")
		}
		config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}
		l.clients[name] = installtest.OrPanic(dynamic.NewForConfig(config))
	}
	own, err := o.any.Resource(clusterpkg.Namespaces).Patch(o.ctx, o.namespace, "application/merge-patch+json", []byte(`{"metadata":{"labels":{"openable":"`+o.namespace+`"}}}`), metav1.PatchOptions{})
	o.must(err)
	l.spaces = []string{own.GetName(), newNamespace(o.env, o.namespace+"-b-", map[string]string{"openable": o.namespace}), newNamespace(o.env, o.namespace+"-c-", nil)}
	return l
}

// inScope reports whether the webhooks see requests for an object.
func (l *load) inScope(o *unstructured.Unstructured) bool {
	return o.GetNamespace() != l.spaces[2] && !strings.HasPrefix(o.GetName(), "skipped")
}

// passes reports whether a request of now passes without an answer, and refused whether it is refused.
func (l *load) passes(o *unstructured.Unstructured, client string) (passes, refused bool) {
	if l.now != during || !l.inScope(o) {
		return false, false
	}
	passes = l.state == managerv1alpha1.FailOpenAll || client == "node" || o.GetNamespace() == l.namespace
	return passes, !passes
}

// act does a request, and records it unless it is refused as predicted.
func (l *load) act(r *loaded, client string, request func(dynamic.ResourceInterface) error, done func()) bool {
	l.Helper()
	passes, refused := l.passes(r.Unstructured, client)
	err := request(l.at(r, client))
	if refused != (err != nil) {
		l.Fatalf("%s of %s in period %d is refused: %t, want %t: %v", client, r.GetName(), l.now, err != nil, refused, err)
	}
	if err == nil {
		r.passed = r.passed || passes
		done()
	}
	return err == nil
}

func (l *load) at(r *loaded, client string) dynamic.ResourceInterface {
	return clientFor(l.clients[client], r.Unstructured)
}

// create creates an object. Webhooks that answer refuse bad ones, which are created in the opening only.
func (l *load) create(client, namespace, prefix string, generated bool) *loaded {
	l.Helper()
	l.count++
	mode := "good"
	bad := l.now == during && l.count%3 == 0
	if bad {
		mode = badMode
	}
	o := configMap(namespace, fmt.Sprintf("%s-%d", prefix, l.count), mode)
	if l.count%4 == 0 {
		o = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"scratch": "x"}}}
		o.SetNamespace(namespace)
		o.SetName(fmt.Sprintf("%s-%d", prefix, l.count))
		o.SetLabels(map[string]string{"made": "here"})
		bad = false
	}
	if generated {
		o.SetGenerateName(o.GetName() + "-")
		o.SetName("")
	}
	r := &loaded{Unstructured: o, stamps: map[string]period{}}
	l.act(r, client, func(to dynamic.ResourceInterface) error {
		answer, err := to.Create(l.ctx, o, metav1.CreateOptions{})
		if err == nil {
			o.SetName(answer.GetName())
		}
		return err
	}, func() {
		r.created, r.bad, r.generated = l.now, bad, generated
		r.stamps[client] = l.now
		r.label = l.judged(r)
		r.later = l.now != before
		l.all = append(l.all, r)
	})
	return r
}

func (l *load) judged(r *loaded) bool { return l.inScope(r.Unstructured) && l.now != during }

// edit changes an object as a client does that reads and updates it. Sets reports whether it sets a field that it owns then.
func (l *load) edit(r *loaded, client string, sets bool, change func(*unstructured.Unstructured)) bool {
	l.Helper()
	if r.bad && l.now == after && l.inScope(r.Unstructured) {
		return false
	}
	return l.act(r, client, func(to dynamic.ResourceInterface) error {
		live, err := to.Get(l.ctx, r.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(live)
		_, err = to.Update(l.ctx, live, metav1.UpdateOptions{})
		return err
	}, func() {
		if judged := l.judged(r); judged && !r.label {
			r.label, sets = true, true // The label that the webhook adds belongs to the client.
		}
		if sets && !r.forged {
			r.stamps[client] = l.now
		}
		r.later = r.later || l.now != before
	})
}

func (l *load) set(r *loaded, client string) bool {
	l.count++
	value := fmt.Sprint(l.count)
	return l.edit(r, client, true, func(o *unstructured.Unstructured) {
		annotations := map[string]string{client: value}
		for key, old := range o.GetAnnotations() {
			if key != client {
				annotations[key] = old
			}
		}
		o.SetAnnotations(annotations)
	})
}

// removes a field, of which managedFields have no time.
func (l *load) removeField(r *loaded, client string) bool {
	return l.edit(r, client, false, removeScratch)
}

func removeScratch(o *unstructured.Unstructured) {
	unstructured.RemoveNestedField(o.Object, "data", "scratch")
}

// strip removes managedFields: API servers do not track the object any more.
func (l *load) strip(r *loaded, client string) bool {
	return l.edit(r, client, false, func(o *unstructured.Unstructured) {
		removeScratch(o)
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
		r.forged, r.stamps = true, map[string]period{}
	})
}

// backdate changes the times in managedFields. It removes a field, too: API servers ignore a change of times alone.
func (l *load) backdate(r *loaded, client string) bool {
	return l.edit(r, client, false, func(o *unstructured.Unstructured) {
		removeScratch(o)
		entries := o.GetManagedFields()
		for i := range entries {
			entries[i].Time = &metav1.Time{Time: o.GetCreationTimestamp().Add(-time.Hour)}
		}
		o.SetManagedFields(entries)
		for manager := range r.stamps {
			r.stamps[manager] = before
		}
	})
}

func (l *load) remove(r *loaded, client string) bool {
	l.Helper()
	return l.act(r, client, func(to dynamic.ResourceInterface) error {
		return to.Delete(l.ctx, r.GetName(), metav1.DeleteOptions{})
	}, func() { r.deleted = l.now })
}

// some requests of all sorts, to objects that exist and to new ones.
func (l *load) some(n int) {
	l.Helper()
	for range n {
		client := loadClients[l.random.IntN(len(loadClients))]
		existing := slices.DeleteFunc(slices.Clone(l.all), func(r *loaded) bool { return !r.exists() || strings.HasPrefix(r.GetName(), "special") || r.generated })
		if len(existing) < 4 || l.random.IntN(3) == 0 {
			prefix := []string{"object", "object", "skipped"}[l.random.IntN(3)]
			l.create(client, l.spaces[l.random.IntN(len(l.spaces))], prefix, false)
			continue
		}
		r := existing[l.random.IntN(len(existing))]
		switch l.random.IntN(6) {
		case 0:
			l.remove(r, client)
		default:
			l.set(r, client)
		}
	}
}
