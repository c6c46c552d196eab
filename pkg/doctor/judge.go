package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// soon is when a certificate's end is worth a word: every tool that renews them does
// so earlier.
const soon = 3 * 24 * time.Hour

// Judge finds what is wrong with the webhooks of a cluster, worst first.
func Judge(f Facts, now time.Time) []Finding {
	broken := map[int]bool{}
	var findings []Finding
	for i, w := range f.Webhooks {
		reach := ReachOf(w, f, now)
		broken[i] = reach.Broken()
		findings = append(findings, ofOne(w, reach, f, now)...)
	}
	findings = append(findings, controlPlane(f, broken)...)
	findings = append(findings, deadlocks(f, broken)...)
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(severity(a.Level), severity(b.Level)) })
	return findings
}

func severity(l Level) int { return slices.Index([]Level{Error, Warning, Unknown}, l) }

// ofOne is what there is to say of a webhook without a look at the others: whether it is
// called at all, and whether somebody looks after it.
func ofOne(w Webhook, reach Reach, f Facts, now time.Time) []Finding {
	var findings []Finding
	switch {
	case w.URL != "":
		findings = outside(w)
	case reach.Broken():
		findings = []Finding{{levelOf(w), reach.Code, []string{w.String()}, reach.Message + ": " + consequence(w), reach.WayOut}}
	case !w.Unverified:
		findings = behind(w, f.Answers[w.String()], now)
	}
	return slices.Concat(findings, abandoned(w, f), unread(w, f))
}

// behind is what the pods said of a webhook that is called.
func behind(w Webhook, all []Answer, now time.Time) []Finding {
	about := []string{w.String()}
	if len(all) == 0 {
		return []Finding{{Unknown, NotAsked, about,
			"its pods could not be asked which certificate they serve", "port-forward has to be allowed and possible; or run doctor with --direct where the pods' addresses can be dialled"}}
	}
	var findings []Finding
	if bad := failed(all); len(bad) > 0 {
		findings = append(findings, Finding{Warning, SomePodsFail, about,
			fmt.Sprintf("%d of %d pods cannot be called, so some requests fail: %s", len(bad), len(all), bad[0].Message), "mend those pods, or delete them"})
	}
	endsSoon := func(a Answer) bool { return !a.NotAfter.IsZero() && a.NotAfter.Sub(now) < soon }
	if i := slices.IndexFunc(all, endsSoon); i >= 0 {
		findings = append(findings, Finding{Warning, CertificateEndsSoon, about,
			fmt.Sprintf("the certificate that is served ends on %s: then %s", all[i].NotAfter.UTC().Format(time.RFC3339), consequence(w)), "let whoever issues it renew it"})
	}
	return findings
}

// abandoned says that whoever made a webhook is gone.
func abandoned(w Webhook, f Facts) []Finding {
	if w.Owner.Name == "" || f.Owners[w.Owner] {
		return nil
	}
	return []Finding{{Warning, OwnerGone, []string{w.String()},
		fmt.Sprintf("its labels name ClusterServiceVersion %s, which does not exist: it was left behind, and nobody looks after it", w.Owner),
		fmt.Sprintf("kubectl delete %s %s", strings.ToLower(w.Kind), w.Object)}}
}

// unread says of which webhook it was guessed what its pods would be.
func unread(w Webhook, f Facts) []Finding {
	s := f.Services[w.Service]
	if !w.Fails || !s.guessed() || len(s.Unread) == 0 {
		return nil
	}
	return []Finding{{Unknown, WorkloadsUnread, []string{w.String()},
		fmt.Sprintf("no pod stays behind Service %s, and whatever makes them may not be read: whether others can come back was judged by the Service's selector alone", w.Service),
		fmt.Sprintf("let whoever runs doctor list %s in namespace %s", strings.Join(s.Unread, ", "), w.Service.Namespace)}}
}

// outside is what there is to say of a webhook that is called by URL: whether it answers
// cannot be seen from the cluster.
func outside(w Webhook) []Finding {
	if !w.Fails {
		return nil
	}
	return []Finding{{Unknown, NotAsked, []string{w.String()},
		fmt.Sprintf("it is called by URL, %s, and so it was not looked at; if that does not answer, %s", w.URL, consequence(w)), "ask it from where API servers run"}}
}

// levelOf is how bad it is that a webhook cannot be called.
func levelOf(w Webhook) Level {
	if w.Fails && !w.Idle {
		return Error
	}
	return Warning
}

// consequence is what comes of it that a webhook cannot be called.
func consequence(w Webhook) string {
	switch {
	case w.Kind == Conversion && w.Idle:
		return "nothing fails while the definition has one version only"
	case w.Kind == APIService:
		return fmt.Sprintf("requests for %s fail, and so does whoever has to know all kinds, as for the deletion of a namespace", w.Object)
	case w.Kind == Conversion:
		return fmt.Sprintf("reads and writes of %s fail unless they are of the stored version", w.Object)
	case w.Fails:
		return "the API server refuses " + intercepts(w)
	default:
		return "failurePolicy is Ignore, so nobody looks at " + intercepts(w)
	}
}

// intercepts says what a webhook is called for.
func intercepts(w Webhook) string {
	var rules []string
	for _, r := range w.Rules {
		var operations, resources []string
		for _, o := range r.Operations {
			operations = append(operations, string(o))
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				if group != "" {
					resource += "." + group
				}
				resources = append(resources, resource)
			}
		}
		rules = append(rules, strings.Join(operations, ", ")+" of "+strings.Join(resources, ", "))
	}
	where := ""
	if s := w.NamespaceSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		where = " in the namespaces that it selects"
	}
	return strings.Join(rules, "; ") + where
}

// named are the webhooks at these places, for people.
func named(f Facts, at []int) []string {
	var all []string
	for _, i := range at {
		all = append(all, f.Webhooks[i].String())
	}
	slices.Sort(all)
	return all
}
