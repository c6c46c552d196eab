package takeover

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Blocker is why a takeover must not begin, with the remedy.
type Blocker struct {
	Code string `json:"code"`
	// Object is the object with the problem.
	Object  string `json:"object,omitempty"`
	Message string `json:"message"`
	Remedy  string `json:"remedy"`
}

// String returns the blocker in one line.
func (b Blocker) String() string {
	return fmt.Sprintf("%s: %s. Remedy: %s", b.Code, b.Message, b.Remedy)
}

// OldestOLM is the oldest version of OLM whose objects the manager adopts. Older versions label and hash
// Deployments in another way.
const OldestOLM = "v0.28.0"

// Blockers returns what blocks a takeover. Once a takeover has begun, its own changes do not block it, and neither does a CSV
// that does not serve: no client repairs it before the takeover has ended.
func (s *Snapshot) Blockers(acceptEdits bool) []Blocker {
	all := slices.Concat(s.blockingPrograms(), s.blockingPermissions())
	begun := s.hasBegun()
	if !begun {
		all = append(all, s.blockingOLM()...)
	}
	for _, c := range s.CSVs {
		if !begun {
			all = append(all, c.notServing()...)
		}
		if !acceptEdits && !(begun && c.isChanged()) {
			all = append(all, c.edits()...)
		}
	}
	return all
}

// hasBegun reports whether olm-operator does not run, and the manager runs or has changed a CSV. A label shows nothing:
// everybody who may write a CSV can set it.
func (s *Snapshot) hasBegun() bool {
	return s.OLM != nil && !s.OLM.Runs() && (s.Manager.Runs() || slices.ContainsFunc(s.CSVs, CSV.isChanged))
}

func (s *Snapshot) blockingPrograms() []Blocker {
	var all []Blocker
	add := func(code, object, message, remedy string) {
		all = append(all, Blocker{code, object, message, remedy})
	}
	if s.OLM == nil {
		add("OLMMissing", "", "no Deployment olm-operator exists", "install the manager without a takeover: docs/admin/install.md")
	}
	if s.NoRollouts {
		add("KindMissing", "", "the cluster does not know the kind WebhookRollout", "kubectl apply --server-side -k manifests/crds")
	}
	for _, m := range s.OtherManagers {
		add("TwoManagers", m.String(), fmt.Sprintf("Deployment %s is another manager", m), stopCommand(m.Namespace, m.Name))
	}
	switch m := s.Manager; {
	case m == nil:
		add("ManagerMissing", "", "the Deployment of the manager does not exist", "apply manifests/with-olm and scale the Deployment to 0, or name it with -n and --deployment")
	case s.OLM.Runs() && m.Runs():
		add("TwoManagers", m.String(), fmt.Sprintf("Deployments %s and %s both run", s.OLM, m), stopCommand(m.Namespace, m.Name))
	default:
		all = append(all, m.blockingArguments()...)
	}
	return all
}

func stopCommand(namespace, name string) string {
	return fmt.Sprintf("kubectl scale -n %s deployment/%s --replicas=0", namespace, name)
}

func (p *Program) blockingArguments() []Blocker {
	var all []Blocker
	if !slices.ContainsFunc(p.Args, func(a string) bool { return a == "--with-olm" || a == "--with-olm=true" }) {
		all = append(all, Blocker{"ManagerWithoutOLM", p.String(), fmt.Sprintf("Deployment %s lacks the argument --with-olm", p), "apply manifests/with-olm"})
	}
	if slices.ContainsFunc(p.Args, func(a string) bool { return strings.HasPrefix(a, "--namespaces") }) {
		all = append(all, Blocker{"ManagerLimited", p.String(), fmt.Sprintf("Deployment %s manages only some namespaces", p), "remove the argument --namespaces"})
	}
	return all
}

func (s *Snapshot) blockingPermissions() []Blocker {
	return lists.Map(s.Missing, func(p Permission) Blocker {
		where := "in all namespaces"
		if p.Namespace != "" {
			where = "in namespace " + p.Namespace
		}
		return Blocker{"PermissionMissing", "", fmt.Sprintf("the user may not %s %s %s", p.Verb, p.Resource, where), "grant the permission, or run the command as a cluster administrator"}
	})
}

func (s *Snapshot) blockingOLM() []Blocker {
	var all []Blocker
	if s.OLM.Runs() && s.OLM.ScaledBy != "" {
		all = append(all, Blocker{"OLMScaledByOthers", s.OLM.String(), fmt.Sprintf("%s would scale Deployment %s up again", s.OLM.ScaledBy, s.OLM), "set the replicas of olm-operator to 0 there, or exclude the Deployment from it"})
	}
	if m := s.Manager; m != nil && !m.Runs() && m.ScaledBy != "" {
		all = append(all, Blocker{"ManagerScaledByOthers", m.String(), fmt.Sprintf("%s would scale Deployment %s to 0 again, after olm-operator has stopped", m.ScaledBy, m), "exclude the Deployment there, and remove what shows this client: docs/admin/takeover.md"})
	}
	switch v := s.OLMVersion; {
	case s.OLM == nil:
	case !semver.IsValid(v):
		all = append(all, Blocker{"OLMVersionUnknown", s.OLM.String(), "the version of OLM is not known", "set it with --olm-version, such as --olm-version=v0.46.0"})
	case semver.Compare(v, OldestOLM) < 0:
		all = append(all, Blocker{"OLMVersionTooOld", s.OLM.String(), fmt.Sprintf("OLM is %s, and the manager adopts objects of %s and later", v, OldestOLM), "upgrade OLM first"})
	}
	return all
}

// notServing returns why the webhooks of a CSV may not serve.
func (c CSV) notServing() []Blocker {
	var all []Blocker
	if c.Phase != succeeded {
		all = append(all, c.blocker("CSVNotSucceeded", fmt.Sprintf("%s is %s: %s", c, c.Phase, c.Cause), "wait until it is Succeeded, correct the cause, or delete it. If olm-operator does not run, takeover undo starts it"))
	}
	for _, p := range c.Problems {
		code := "WebhookNotServing"
		if slices.Contains(untrusted, p.Code) {
			code = "CertificateNotTrusted"
		}
		all = append(all, c.blocker(code, fmt.Sprintf("%s of %s: %s", p.Object, c, p.Message), "kubectl webhooks doctor has the next step"))
	}
	return all
}

// edits returns what the manager changes back.
func (c CSV) edits() []Blocker {
	const remedy = "make the change in the ClusterServiceVersion; or accept that it is reverted with --accept-edits"
	var all []Blocker
	for _, d := range c.Deployments {
		if code, message, remedy := c.edited(d); code != "" {
			all = append(all, c.blocker(code, message, remedy))
		}
	}
	for _, e := range c.EditedRegistrations {
		all = append(all, c.blocker("HandEdited", fmt.Sprintf("%s was changed by %s: the manager reverts the change", e.Object, strings.Join(e.By, ", ")), remedy))
	}
	for _, r := range c.Reverted {
		all = append(all, c.blocker("HandEdited", fmt.Sprintf("%s differs from what olm-operator wrote in %s: the manager reverts that", r.Object, strings.Join(r.Fields, ", ")), remedy))
	}
	return all
}

func (c CSV) blocker(code, message, remedy string) Blocker {
	return Blocker{code, Object{KindCSV, c.Namespace, c.Name}.String(), message, remedy}
}

// edited returns why the manager changes a Deployment at once; an empty code if it does not.
func (c CSV) edited(d Deployment) (code, message, remedy string) {
	const elsewhere = "make the change in the ClusterServiceVersion or in spec.config of the Subscription; or accept the restart with --accept-edits"
	name := c.Namespace + "/" + d.Name
	switch {
	case d.OtherForm:
		return "OtherForm", fmt.Sprintf("Deployment %s is not what olm-operator v0.46 makes of %s: the manager brings it into its own form at once, and the pods restart", name, c),
			"upgrade OLM, so that olm-operator writes the Deployment again; or accept the restart with --accept-edits"
	case len(d.EditedBy) > 0:
		return "HandEdited", fmt.Sprintf("Deployment %s was changed by %s: the manager may revert the change, and restart the pods", name, strings.Join(d.EditedBy, ", ")), elsewhere
	case len(d.Reverted) > 0:
		return "HandEdited", fmt.Sprintf("Deployment %s differs from what olm-operator wrote in %s: the manager reverts that, and the pods may restart", name, strings.Join(d.Reverted, ", ")), elsewhere
	default:
		return "", "", ""
	}
}

// untrusted are the codes of a certificate that the registration does not verify.
var untrusted = []string{"ForeignCertificate", "UnfitCertificate", "HandshakeFailed", "CAExpired", "CABundleUnreadable"}
