package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// Reach is why API servers do not reach a webhook, as a code and a sentence. Both are empty if they do.
type Reach struct {
	Code, Message, Remedy string
}

// Broken reports whether calls fail.
func (r Reach) Broken() bool { return r.Code != "" }

// ReachOf judges one webhook. Of a server outside the cluster, it judges the caBundle and the report of API servers.
func ReachOf(w Webhook, f Facts, now time.Time) Reach {
	looks := []func(Webhook, Facts, time.Time) Reach{service, endpoints, trust, answers, availability}
	if _, outside := outsideOf(w, f); outside {
		looks = []func(Webhook, Facts, time.Time) Reach{trust, availability}
	}
	for _, look := range looks {
		if found := look(w, f, now); found.Broken() {
			return found
		}
	}
	return Reach{}
}

// outsideOf returns what API servers call when it is not a Service with endpoints.
func outsideOf(w Webhook, f Facts) (address string, outside bool) {
	if w.URL != "" {
		return "URL " + w.URL, true
	}
	if s := f.Services[w.Service]; s.By == route.ByExternalName {
		return fmt.Sprintf("the external name %s of Service %s", s.ExternalName, w.Service), true
	}
	return "", false
}

// Doubt returns why it is not known whether every API server reaches a webhook that is not Broken: the code of a
// finding, and a message. Both are empty if it is known, and for a webhook that is called by URL.
func Doubt(w Webhook, f Facts) (code, message string) {
	_, exists := f.Services[w.Service]
	if all := doubts(w, f); exists && w.URL == "" && len(all) > 0 {
		return all[0].code, all[0].message
	}
	return "", ""
}

// doubt is what is not known of a webhook that is not Broken. finding is the message before its consequence.
type doubt struct{ code, message, finding, remedy string }

func doubts(w Webhook, f Facts) (all []doubt) {
	if w.Kind == APIService && w.Available != metav1.ConditionTrue && w.Available != metav1.ConditionFalse {
		message := "API servers do not report whether they can call it"
		all = append(all, doubt{APIServiceUnavailable, message, message + "; then ", inspectCondition(w)})
	}
	s, exists := f.Services[w.Service]
	if address, outside := outsideOf(w, f); outside {
		called := "API servers call " + address
		return append(all, doubt{NotAsked, called + ": whether it answers was not checked", called + ", which was not asked; if it does not answer, ", "call it from the hosts of the API servers"})
	}
	if exists && s.By != route.ByClusterIP {
		message := fmt.Sprintf("Service %s is headless: API servers call it only if all of them run with --enable-aggregator-routing, which cannot be read from the cluster", w.Service)
		all = append(all, doubt{HeadlessService, message, message + "; otherwise ", "create the Service again with a cluster IP, or check the flag of the API servers"})
	}
	if s.NodeLocal {
		message := fmt.Sprintf("internalTrafficPolicy of Service %s is Local: an API server cannot call it from a node without an endpoint of the Service", w.Service)
		all = append(all, doubt{NodeLocalService, message, message + "; on such a node ",
			fmt.Sprintf(`kubectl -n %s patch service %s -p '{"spec":{"internalTrafficPolicy":"Cluster"}}'`, w.Service.Namespace, w.Service.Name)})
	}
	return all
}

func service(w Webhook, f Facts, _ time.Time) Reach {
	s, there := f.Services[w.Service]
	_, port := s.Ports[w.Port]
	switch {
	case !there:
		return Reach{managerv1alpha1.ReasonServiceMissing, fmt.Sprintf("Service %s does not exist", w.Service),
			"install the webhook server again, or delete the registration"}
	case !port:
		return Reach{managerv1alpha1.ReasonPortMissing, fmt.Sprintf("Service %s has no port %d", w.Service, w.Port),
			fmt.Sprintf("give the Service port %d, or correct the registration", w.Port)}
	default:
		return Reach{}
	}
}

func endpoints(w Webhook, f Facts, _ time.Time) Reach {
	s := f.Services[w.Service]
	if s.Ports[w.Port] > 0 {
		return Reach{}
	}
	if s.Ready > 0 {
		return Reach{"NoEndpointAtPort", fmt.Sprintf("none of the %d ready endpoints of Service %s is at port %d", s.Ready, w.Service, w.Port),
			fmt.Sprintf("compare targetPort of the Service with the ports of its pods: kubectl -n %s describe service %s", w.Service.Namespace, w.Service.Name)}
	}
	message := fmt.Sprintf("no endpoint of Service %s is ready", w.Service)
	if s.LeftOver > 0 {
		message = fmt.Sprintf("the endpoints of Service %s are left over from pods that no longer exist", w.Service)
	}
	return Reach{managerv1alpha1.ReasonNoReadyEndpoints, message, fmt.Sprintf("look at the pods behind it: kubectl -n %s describe endpointslices,pods", w.Service.Namespace)}
}

// trust reads the caBundle as API servers do: they trust what of it they can read.
func trust(w Webhook, _ Facts, now time.Time) Reach {
	if len(w.CABundle) == 0 {
		return Reach{} // The API server uses its own roots; the answers of the pods decide.
	}
	var cas []*x509.Certificate
	for block, rest := pem.Decode(w.CABundle); block != nil; block, rest = pem.Decode(rest) {
		if ca, err := x509.ParseCertificate(block.Bytes); block.Type == "CERTIFICATE" && err == nil {
			cas = append(cas, ca)
		}
	}
	if len(cas) == 0 {
		return Reach{"CABundleUnreadable", "its caBundle holds no certificate", "write the caBundle again with the tool that issued the certificate"}
	}
	last := slices.MaxFunc(cas, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	if last.NotAfter.Before(now) {
		return Reach{"CAExpired", fmt.Sprintf("the last CA of its caBundle, %q, expired on %s", last.Subject, last.NotAfter.UTC().Format(time.RFC3339)),
			"renew it with the tool that issued it"}
	}
	return Reach{}
}

// availability reads what API servers report of an APIService. A port-forward to its pods may work nevertheless.
func availability(w Webhook, _ Facts, _ time.Time) Reach {
	if w.Kind != APIService || w.Available != metav1.ConditionFalse {
		return Reach{}
	}
	return Reach{APIServiceUnavailable, "API servers report that they cannot call it: " + w.Report, inspectCondition(w)}
}

func inspectCondition(w Webhook) string {
	return fmt.Sprintf("read its condition Available, and look for a NetworkPolicy between API servers and the pods: kubectl describe apiservice %s", w.Object)
}

func answers(w Webhook, f Facts, _ time.Time) Reach {
	all := f.Answers[w.String()]
	bad := failed(all)
	if len(bad) == 0 || len(bad) < max(len(all), f.Services[w.Service].Ports[w.Port]) {
		return Reach{}
	}
	return Reach{bad[0].Reason, bad[0].Message, "the message reports what to check; the certificate that the pods serve must be signed by a CA of the caBundle"}
}

func failed(all []Answer) []Answer {
	return slices.DeleteFunc(slices.Clone(all), func(a Answer) bool { return !a.Asked || a.Reason == "" })
}

// Asked counts the ready endpoints that webhooks call, and those of them that were asked.
func Asked(f Facts) (asked, ready int) {
	for _, w := range f.Webhooks {
		if _, outside := outsideOf(w, f); outside {
			continue
		}
		all := f.Answers[w.String()]
		ready += max(len(all), f.Services[w.Service].Ports[w.Port])
		for _, a := range all {
			if a.Asked {
				asked++
			}
		}
	}
	return asked, ready
}
