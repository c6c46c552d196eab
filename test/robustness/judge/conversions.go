package judge

import (
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

type definition struct {
	Spec struct {
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
		} `json:"versions"`
		Conversion struct {
			Strategy string `json:"strategy"`
		} `json:"conversion"`
	} `json:"spec"`
}

// keepsConversions is I6.
func keepsConversions(c *cluster, e history.Event, report reporter) {
	w := e.Write
	if w == nil || w.Object.Kind != "CustomResourceDefinition" || w.Before == nil || w.After == nil || !c.is(w.Client, history.Manager) {
		return
	}
	var before, after definition
	if !into(w.Before, &before) || !into(w.After, &after) || before.Spec.Conversion.Strategy != "Webhook" || after.Spec.Conversion.Strategy == "Webhook" {
		return
	}
	served := 0
	for _, v := range after.Spec.Versions {
		if v.Served {
			served++
		}
	}
	if n := c.count(after.Spec.Names.Kind); n > 0 && served > 1 {
		report(w.Object, "the conversion ends, and %d objects exist in %d served versions", n, served)
	}
}

func (c *cluster) count(kind string) int {
	n := 0
	for key := range c.objects {
		if key.Kind == kind {
			n++
		}
	}
	return n
}
