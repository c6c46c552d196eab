package drill

import (
	"fmt"
	"slices"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Picture is the graph of the webhooks that see requests of the way back, of what stands behind them and of what waits for
// them.
type Picture struct {
	Nodes []Node
	Edges []Edge
}

// Node is a part, or several workloads of a Namespace that wait for the same webhooks.
type Node struct {
	Label   string
	Webhook bool
	State   State
}

// State is whether a part returns.
type State string

// The states.
const (
	Returns      State = "returns"
	PerhapsNever State = "perhaps"
	NeverReturns State = "never"
)

// Edge is from a part to what it needs. Text names the requests, if there are any.
type Edge struct {
	From, To int
	Text     string
}

// Picture returns the picture of a prediction.
func (p Prediction) Picture() Picture {
	d := drawing{Prediction: p, nodes: map[int]int{}}
	behind := d.behind()
	groups, order := map[string][]int{}, []string{}
	for i, part := range d.all.parts {
		targets := d.targets(i)
		switch {
		case behind[i], len(targets) > 0 && !part.IsWorkload():
			d.node(part.String(), i)
		case len(targets) > 0:
			key := fmt.Sprint(part.Namespace, targets, d.state(i))
			if groups[key] == nil {
				order = append(order, key)
			}
			groups[key] = append(groups[key], i)
		}
	}
	for _, key := range order {
		d.group(groups[key])
	}
	d.edges()
	return d.Picture
}

type drawing struct {
	Prediction
	Picture

	nodes map[int]int // by the index of the part
}

// targets are the webhooks of the cluster that see requests of a part.
func (d *drawing) targets(i int) []int {
	var all []int
	for _, n := range d.all.parts[i].needs {
		for _, j := range n.any {
			if n.request != nil && !d.all.parts[j].outside {
				all = append(all, j)
			}
		}
	}
	return lists.Sorted(lists.Distinct(all))
}

// behind are the webhooks that see a request, their Services and the workloads behind these.
func (d *drawing) behind() map[int]bool {
	all := map[int]bool{}
	for i := range d.all.parts {
		for _, webhook := range d.targets(i) {
			all[webhook] = true
			for _, service := range d.backends(webhook) {
				all[service] = true
				mark(all, d.backends(service))
			}
		}
	}
	return all
}

// backends are the Service of a webhook, or the workloads behind a Service.
func (d *drawing) backends(i int) []int {
	for _, n := range d.all.parts[i].needs {
		if n.request == nil {
			return n.any
		}
	}
	return nil
}

func (d *drawing) state(i int) State {
	switch {
	case d.all.returned[i] != never:
		return Returns
	case d.sure.returned[i] != never:
		return PerhapsNever
	default:
		return NeverReturns
	}
}

func (d *drawing) node(label string, parts ...int) {
	for _, i := range parts {
		d.nodes[i] = len(d.Nodes)
	}
	d.Nodes = append(d.Nodes, Node{label, d.all.parts[parts[0]].isWebhook(), d.state(parts[0])})
}

func (d *drawing) group(parts []int) {
	first := d.all.parts[parts[0]]
	if len(parts) == 1 {
		d.node(first.String(), parts...)
		return
	}
	d.node(fmt.Sprintf("%d workloads in Namespace %s", len(parts), first.Namespace), parts...)
}

// edges adds the needs between nodes that have a request, that are behind a webhook, or that are not met.
func (d *drawing) edges() {
	type pair struct{ from, to int }
	texts := map[pair][]string{}
	var order []pair
	for i, part := range d.all.parts {
		from, drawn := d.nodes[i]
		if !drawn {
			continue
		}
		missing := d.all.missing(i)
		for at, n := range part.needs {
			chain := at == 0 && (part.isWebhook() || part.Kind == "Service")
			unmet := slices.ContainsFunc(missing, func(m need) bool { return m.because == n.because && slices.Equal(m.any, n.any) })
			for _, j := range n.any {
				to, drawn := d.nodes[j]
				if !drawn || n.request == nil && !chain && !unmet {
					continue
				}
				key := pair{from, to}
				if _, exists := texts[key]; !exists {
					order, texts[key] = append(order, key), nil
				}
				if n.request != nil {
					texts[key] = append(texts[key], n.request.String())
				}
			}
		}
	}
	for _, key := range order {
		d.Edges = append(d.Edges, Edge{key.from, key.to, strings.Join(lists.Distinct(texts[key]), ", ")})
	}
}
