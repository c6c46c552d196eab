package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// ComponentsPath is the path of orders for components: an order is sent to ComponentsPath/NAME/ORDER.
const ComponentsPath = "/components"

// ComponentOrders are what a running node can be asked to do with a component of Restartable.
var ComponentOrders = []struct{ Name, Effect string }{
	{"stop", "end it"},
	{"start", "start it; it may not be ready yet"},
}

// Restartable are the components that can be stopped without an end of the cluster.
func Restartable() []string {
	var names []string
	for _, c := range restartable(Layout{}) {
		names = append(names, c.name)
	}
	return names
}

func restartable(l Layout) []component {
	return []component{controllerManager(l), scheduler(l), kubelet(l)}
}

// obey follows an order for a component.
func (s *supervisor) obey(ctx context.Context, name, order string) error {
	all := restartable(s.layout)
	i := slices.IndexFunc(all, func(c component) bool { return c.name == name })
	if i < 0 {
		return fmt.Errorf("%s cannot be stopped: the components that can are %s", name, strings.Join(Restartable(), ", "))
	}
	logf("ordered: %s %s", order, name)
	switch order {
	case "stop":
		ctx, cancel := context.WithTimeout(ctx, answerWithin)
		defer cancel()
		return s.end(ctx, name)
	case "start":
		if s.runs(name) {
			return fmt.Errorf("%s runs already", name)
		}
		return s.start(all[i])
	default:
		return fmt.Errorf("there is no order %q", order)
	}
}
