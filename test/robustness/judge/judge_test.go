package judge

import (
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

func TestRegistersAfterProof(t *testing.T) {
	c, other := newCA(t), newCA(t)
	selects := with("namespaceSelector", history.Object{"matchLabels": history.Object{"scope": "a"}})
	scoped := func(labels history.Object) *story {
		return installed(c).
			writes("author", "create", history.Ref{Kind: "OperatorGroup", Namespace: "operators", Name: "g"}, nil, history.Object{"status": history.Object{"namespaces": []any{"target"}}}).
			writes("author", "create", history.Ref{Kind: "Namespace", Name: "target"}, nil, history.Object{"metadata": history.Object{"labels": labels}}).
			writes("manager", "create", history.Ref{Kind: "ValidatingWebhookConfiguration", Name: "scoped"}, nil, hook(c, selects))
	}
	stories{
		"each ready pod was dialled":                         {installed(c), nil},
		"no pod serves":                                      {begin().writes("manager", "create", configured, nil, hook(c)), []string{"I1"}},
		"no handshake":                                       {begin().lists(true).serves(c.leaf()).waits(time.Minute).writes("manager", "create", configured, nil, hook(c)), []string{"I1"}},
		"an endpoint that has just been added":               {begin().lists(true).serves(c.leaf()).writes("manager", "create", configured, nil, hook(c)), nil},
		"a handshake before the pod served this certificate": {begin().lists(true).serves(other.leaf()).dials().serves(c.leaf()).waits(time.Minute).writes("manager", "create", configured, nil, hook(c)), []string{"I1"}},
		"a pod serves another certificate":                   {begin().lists(true).serves(other.leaf()).dials().writes("manager", "create", configured, nil, hook(c)), []string{"I1", "I2"}},
		"another client registers it":                        {begin().writes("gitops", "create", configured, nil, hook(c)), nil},
		"all namespaces of the scope have the label":         {scoped(history.Object{"scope": "a"}), nil},
		"a namespace of the scope lacks the label":           {scoped(history.Object{}), []string{"I1"}},
	}.run(t)
}

func TestTrustsPods(t *testing.T) {
	c, next := newCA(t), newCA(t)
	stories{
		"trust first":           {installed(c).writes("manager", "patch", configured, hook(c), hook(c.and(next))).serves(next.leaf()), nil},
		"the certificate first": {installed(c).serves(next.leaf()), []string{"I2"}},
		"an API server that uses the earlier trust": {
			installed(c).sees("a", configured, 3).writes("manager", "patch", configured, hook(c), hook(c.and(next))).serves(next.leaf()), []string{"I2"},
		},
		"each API server uses the new trust": {
			installed(c).sees("a", configured, 3).writes("manager", "patch", configured, hook(c), hook(c.and(next))).sees("a", configured, 4).serves(next.leaf()), nil,
		},
		"the old CA is removed while a pod serves under it": {
			installed(c.and(next)).readsLive("Pod").writes("manager", "patch", configured, hook(c.and(next)), hook(next)), []string{"I2"},
		},
		"a pod that is not ready": {
			installed(c).lists(false).serves(next.leaf()), nil,
		},
		"an outage of the pod":    {installed(c).condition(history.Outage, true, pod).serves(next.leaf()), nil},
		"an outage that is over":  {installed(c).condition(history.Outage, true, pod).condition(history.Outage, false).waits(time.Second).serves(next.leaf()), []string{"I2"}},
		"the certificate expires": {installed(c).waits(2 * time.Hour).serves(c.leaf()), []string{"I2"}},
	}.run(t)
}

func TestRestsOnLiveReads(t *testing.T) {
	c, next := newCA(t), newCA(t)
	drops := func(s *story) *story {
		return s.serves(next.leaf()).writes("manager", "patch", configured, hook(c.and(next)), hook(next))
	}
	issues := func(s *story) *story {
		return s.writes("manager", "update", secret, secretWith(map[string]string{"tls.crt": c.leaf()}), secretWith(map[string]string{"tls.crt": next.leaf()}))
	}
	owned := func() *story { return installed(c).writes("manager", "create", secret, nil, secretWith(nil)) }
	stories{
		"a CA is removed after a live read":           {drops(installed(c.and(next)).readsLive("Pod")), nil},
		"a CA is removed without one":                 {drops(installed(c.and(next))), []string{"I3"}},
		"a CA is removed after an old one":            {drops(installed(c.and(next)).readsLive("Pod").waits(time.Minute)), []string{"I3"}},
		"a CA is added":                               {installed(c).writes("manager", "patch", configured, hook(c), hook(c.and(next))), nil},
		"another certificate after a live read":       {issues(owned().readsLive("Secret")), nil},
		"another certificate without one":             {issues(owned()), []string{"I3"}},
		"another certificate, after a read of others": {issues(owned().readsLive("Pod")), []string{"I3"}},
	}.run(t)
}

func TestNeverWeaker(t *testing.T) {
	c := newCA(t)
	becomes := func(s *story, changes ...func(history.Object)) *story {
		return s.writes("manager", "patch", configured, hook(c), hook(c, changes...))
	}
	later := func() *story { return installed(c).waits(time.Hour / 2) }
	fewer := with("rules", []any{history.Object{"operations": []any{"CREATE"}, "apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"}}})
	stories{
		"Ignore":                      {becomes(later(), with("failurePolicy", "Ignore")), []string{"I4"}},
		"fewer rules":                 {becomes(later(), fewer), []string{"I4"}},
		"a stricter selector":         {becomes(later(), with("objectSelector", history.Object{"matchLabels": history.Object{"a": "b"}})), []string{"I4"}},
		"another matchCondition":      {becomes(later(), with("matchConditions", []any{history.Object{"name": "a", "expression": "false"}})), []string{"I4"}},
		"another timeout":             {becomes(later(), with("timeoutSeconds", int64(3))), nil},
		"unregistered":                {later().writes("manager", "delete", configured, hook(c), nil), []string{"I4"}},
		"the author changed it":       {becomes(later().writes("author", "update", csv, history.Object{}, history.Object{}), fewer), nil},
		"the operator is uninstalled": {later().writes("author", "delete", csv, history.Object{}, nil).waits(time.Hour/4).writes("manager", "delete", configured, hook(c), nil), nil},
		"an administrator ordered it": {becomes(later().condition(history.Ordered, true, configured), with("failurePolicy", "Ignore")), nil},
		"ordered for another webhook": {becomes(later().condition(history.Ordered, true, crd), with("failurePolicy", "Ignore")), []string{"I4"}},
		"another client":              {later().writes("gitops", "patch", configured, hook(c), hook(c, fewer)), nil},
	}.run(t)
}

func TestCalls(t *testing.T) {
	c := newCA(t)
	without := func(s *story) *story { return s.serves("") }
	stories{
		"answered":                     {installed(c).calls("ConfigMap", history.Answered), nil},
		"failed":                       {installed(c).calls("ConfigMap", history.Failed), []string{"I5"}},
		"failed in an outage":          {without(installed(c).condition(history.Outage, true, configured)).calls("ConfigMap", history.Failed), nil},
		"its own backend waits for it": {without(installed(c).condition(history.Outage, true, configured)).calls("Pod", history.Failed), []string{"I12"}},
		"the webhook of another client": {
			begin().writes("gitops", "create", configured, nil, hook(c)).calls("ConfigMap", history.Failed), nil,
		},
		"sent before the end of an outage": {
			installed(c).condition(history.Outage, true, configured).condition(history.Outage, false).calls("ConfigMap", history.Failed), nil,
		},
	}.run(t)
}

func TestKeepsConversions(t *testing.T) {
	definition := func(strategy string, versions ...string) history.Object {
		var all []any
		for _, v := range versions {
			all = append(all, history.Object{"name": v, "served": true})
		}
		return history.Object{"spec": history.Object{"names": history.Object{"kind": "Engine"}, "versions": all, "conversion": history.Object{"strategy": strategy}}}
	}
	ends := func(s *story, versions ...string) *story {
		return s.writes("manager", "update", crd, definition("Webhook", versions...), definition("None", versions...))
	}
	engine := func() *story {
		return begin().writes("author", "create", history.Ref{Kind: "Engine", Namespace: "a", Name: "e"}, nil, history.Object{})
	}
	stories{
		"objects in two versions": {ends(engine(), "v1", "v2"), []string{"I6"}},
		"one version":             {ends(engine(), "v2"), nil},
		"no objects":              {ends(begin(), "v1", "v2"), nil},
		"another client": {
			engine().writes("gitops", "update", crd, definition("Webhook", "v1", "v2"), definition("None", "v1", "v2")), nil,
		},
	}.run(t)
}

func TestKeepsKeys(t *testing.T) {
	c := newCA(t)
	serving := map[string]string{"tls.crt": c.leaf(), "tls.key": "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"}
	stories{
		"a key of a serving certificate": {begin().writes("manager", "create", secret, nil, secretWith(serving)), nil},
		"a key of a CA":                  {begin().writes("manager", "create", secret, nil, secretWith(map[string]string{"ca.crt": string(pemOf(c.certificate)), "tls.key": c.keyPEM(t)})), []string{"I7"}},
		"a key in another object":        {begin().writes("manager", "create", csv, nil, history.Object{"status": c.keyPEM(t)}), []string{"I7"}},
		"a key in a message":             {begin().reports(csv, "cannot parse "+c.keyPEM(t)), []string{"I7"}},
		"the key of an author":           {begin().writes("author", "create", secret, nil, secretWith(map[string]string{"ca.crt": string(pemOf(c.certificate)), "tls.key": c.keyPEM(t)})), nil},
	}.run(t)
}

func TestChangesOnlyItsOwn(t *testing.T) {
	owned := func(uid string) history.Object {
		return history.Object{"metadata": history.Object{"ownerReferences": []any{history.Object{"uid": uid}}}}
	}
	existing := func(before history.Object) *story {
		return begin().writes("author", "create", csv, nil, history.Object{}).writes("gitops", "create", secret, nil, before).writes("manager", "update", secret, before, before)
	}
	recreated := secret
	recreated.UID = "another"
	stories{
		"created by the manager":              {begin().writes("manager", "create", secret, nil, history.Object{}).writes("manager", "update", secret, history.Object{}, history.Object{}), nil},
		"owned by a ClusterServiceVersion":    {existing(owned("c")), nil},
		"owned by one that never existed":     {existing(owned("other")), []string{"I9"}},
		"of another client":                   {existing(history.Object{}), []string{"I9"}},
		"of another client, with its name":    {begin().writes("manager", "create", secret, nil, history.Object{}).writes("manager", "delete", recreated, history.Object{}, nil), []string{"I9"}},
		"a kind that belongs to other people": {begin().writes("manager", "patch", history.Ref{Kind: "Namespace", Name: "a"}, history.Object{}, history.Object{}), nil},
	}.run(t)
}

func TestWritesLittle(t *testing.T) {
	repairs := func(n int, every time.Duration) *story {
		s := begin().writes("manager", "create", secret, nil, history.Object{})
		for range n {
			s.waits(every).writes("manager", "update", secret, history.Object{}, history.Object{})
		}
		return s
	}
	stories{
		"a write while nothing changes":     {installed(newCA(t)).condition(history.Quiet, true).writes("manager", "patch", csv, history.Object{}, history.Object{}), []string{"I11"}},
		"a lease":                           {begin().condition(history.Quiet, true).writes("manager", "update", history.Ref{Kind: "Lease", Name: "l"}, history.Object{}, history.Object{}), nil},
		"a write after something changed":   {begin().condition(history.Quiet, true).condition(history.Quiet, false).waits(time.Second).writes("manager", "create", secret, nil, history.Object{}), nil},
		"a fight":                           {repairs(25, 0), []string{"I11"}},
		"repairs that become less frequent": {repairs(25, 10*time.Second), nil},
	}.run(t)
}

func TestReportsStops(t *testing.T) {
	stopped := func() *story { return begin().condition(history.Stopped, true, csv) }
	const message = "Secret operators/missing does not exist: create it"
	stories{
		"nothing is reported":              {stopped().waits(time.Minute).calls("ConfigMap", history.Answered), []string{"I13"}},
		"something else is reported":       {stopped().reports(csv, "waiting").waits(time.Minute).calls("ConfigMap", history.Answered), []string{"I13"}},
		"the cause is reported":            {stopped().waits(10*time.Second).reports(csv, message).waits(time.Minute).calls("ConfigMap", history.Answered), nil},
		"the cause was reported before":    {begin().reports(csv, message).condition(history.Stopped, true, csv).waits(time.Minute).calls("ConfigMap", history.Answered), nil},
		"it continues before anyone waits": {stopped().condition(history.Stopped, false).waits(time.Minute).calls("ConfigMap", history.Answered), nil},
	}.run(t)
}
