package page

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

// Intercepted is a resource of which API servers send requests to a webhook.
type Intercepted struct {
	// Resource is "plural.group", with "*" for all of them.
	Resource   string
	Operations string
}

const (
	// longName and manyOperations limit what is shown of one rule.
	longName       = 200
	manyOperations = 5
)

// maxIntercepted is how many resources of one webhook are shown. An object of 1.5 MiB can have rules for millions.
const maxIntercepted = 50

// intercepted returns the resources of a registration, and how many are left out.
func intercepted(w doctor.Webhook) (all []Intercepted, more int) {
	switch w.Kind {
	case doctor.Conversion:
		return []Intercepted{{w.Object, "conversion between versions"}}, 0
	case doctor.APIService:
		_, group, _ := strings.Cut(w.Object, ".")
		return []Intercepted{{"*." + group, "all requests"}}, 0
	}
	for _, rule := range w.Rules {
		more += len(rule.APIGroups) * len(rule.Resources)
		for _, one := range resourcesOf(rule, maxIntercepted-len(all)) {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
			more--
		}
	}
	return all, more
}

func resourcesOf(rule admissionregistrationv1.RuleWithOperations, limit int) (all []Intercepted) {
	operations := strings.Join(lists.Texts(rule.Operations[:min(len(rule.Operations), manyOperations)]), ", ")
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			if len(all) == limit {
				return all
			}
			all = append(all, Intercepted{csvstatus.Shorten(strings.TrimSuffix(resource+"."+group, "."), longName, ""), csvstatus.Shorten(operations, longName, "")})
		}
	}
	return all
}
