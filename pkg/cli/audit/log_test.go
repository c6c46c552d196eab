package audit

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// set sets a field of an event, such as responseStatus.code.
func set(path string, value any) func(map[string]any) {
	return func(event map[string]any) {
		fields := strings.Split(path, ".")
		for _, field := range fields[:len(fields)-1] {
			event = event[field].(map[string]any)
		}
		event[fields[len(fields)-1]] = value
	}
}

// failed lets the request have an answer with that code and message.
func failed(code int, message string) func(map[string]any) {
	return set("responseStatus", map[string]any{"status": "Failure", "code": code, "message": message})
}

func dryRunInURL(event map[string]any) {
	event["requestURI"] = "/api/v1/namespaces/shop/configmaps?dryRun=All"
}

// withoutBody lets the event have the level Metadata.
func withoutBody(event map[string]any) {
	event["level"] = "Metadata"
	delete(event, "requestObject")
}

// logOf has lines from one hour before the opening until one hour after it.
func logOf(t *testing.T, events ...map[string]any) *Log {
	t.Helper()
	log := &Log{}
	for at := minute(-60); !at.After(minute(120)); at = at.Add(30 * time.Second) {
		events = append(events, logLine("get", "another", at))
	}
	for _, event := range events {
		installtest.Must(t, log.Add(installtest.OrPanic(json.Marshal(event))))
	}
	return log
}

func TestListWithALog(t *testing.T) {
	existing := observed(object(minute(-30), entry("editor", minute(5))))
	hidden := observed(object(minute(-30), entry("editor", minute(90))))
	generated := func() Object {
		o := object(minute(5))
		o.SetGenerateName("o")
		return observed(o)
	}()
	finalized := observed(with(object(minute(-30)), func(u *unstructured.Unstructured) { u.SetDeletionTimestamp(stamp(minute(5))) }))
	const deletes, mayDelete = "shop/one Deleted Certain: Certain DELETE AuditLog by alice", "shop/one Deleted Possible: Possible DELETE AuditLog by alice"
	const mayDeleteSome, denied = "shop/ Deleted Possible: Possible DELETE AuditLog by alice", `admission webhook "w.shop.io" denied the request: no`
	for name, test := range map[string]struct {
		objects []Object
		events  []map[string]any
		want    string
		note    string
	}{
		"passed":                                    {[]Object{existing}, []map[string]any{logLine("update", "one", minute(5), unanswered)}, "shop/one Exists Certain: Certain UPDATE AuditLog by alice", ""},
		"judged":                                    {[]Object{existing}, []map[string]any{logLine("update", "one", minute(5))}, "", ""},
		"a patch":                                   {[]Object{existing}, []map[string]any{logLine("patch", "one", minute(5), unanswered)}, "shop/one Exists Certain: Certain UPDATE AuditLog by alice", ""},
		"not in the log":                            {[]Object{existing}, nil, "shop/one Exists Certain: Certain UPDATE ManagedFields by editor", "lacks requests"},
		"at another time":                           {[]Object{existing}, []map[string]any{logLine("update", "one", minute(7))}, "shop/one Exists Certain: Certain UPDATE ManagedFields by editor", "lacks requests"},
		"hidden, and not in the log":                {[]Object{hidden}, nil, "", ""},
		"hidden, and in the log":                    {[]Object{hidden}, []map[string]any{logLine("update", "one", minute(5), unanswered)}, "shop/one Exists Certain: Certain UPDATE AuditLog by alice", ""},
		"deleted":                                   {nil, []map[string]any{logLine("delete", "one", minute(5), unanswered)}, deletes, ""},
		"deleted, without options in the log":       {nil, []map[string]any{logLine("delete", "one", minute(5), unanswered, withoutBody)}, mayDelete, ""},
		"a deletion with dryRun in the URL only":    {nil, []map[string]any{logLine("delete", "one", minute(5), unanswered, dryRunInURL)}, deletes, ""},
		"deletions with dryRun in the URL only":     {nil, []map[string]any{logLine("deletecollection", "one", minute(5), unanswered, dryRunInURL)}, deletes, ""},
		"dryRun in the URL, without options":        {nil, []map[string]any{logLine("delete", "one", minute(5), unanswered, dryRunInURL, withoutBody)}, mayDelete, ""},
		"dryRun in the URL, and no body at Request": {nil, []map[string]any{logLine("delete", "one", minute(5), unanswered, dryRunInURL, set("requestObject", nil))}, mayDelete, ""},
		"no body at Request":                        {nil, []map[string]any{logLine("delete", "one", minute(5), unanswered, set("requestObject", nil))}, deletes, ""},
		"a dry run of a deletion":                   {nil, []map[string]any{logLine("delete", "one", minute(5), unanswered, set("requestObject.dryRun", []string{"All"}))}, "", ""},
		"a dry run of a deletion, without options in the log": {[]Object{existing}, []map[string]any{
			logLine("update", "one", minute(5)), logLine("delete", "one", minute(6), unanswered, withoutBody),
		}, "", ""},
		"waits for finalizers, without options in the log": {[]Object{finalized}, []map[string]any{logLine("delete", "one", minute(5), unanswered, withoutBody)}, "shop/one Exists Certain: Certain DELETE AuditLog by alice", ""},
		"a dry run, or of the previous object": {[]Object{generated}, []map[string]any{
			logLine("create", "", minute(5)), logLine("delete", "one", minute(5), unanswered, withoutBody),
		}, "shop/one Exists Possible: Possible DELETE AuditLog by alice", ""},
		"a connection with dryRun": {nil, []map[string]any{logLine("create", "one", minute(5), unanswered, dryRunInURL, set("objectRef.subresource", "exec"))}, "shop/one Vanished Certain: Certain CONNECT AuditLog /exec by alice", ""},
		"a token with dryRun": {nil, []map[string]any{
			logLine("create", "one", minute(5), unanswered, dryRunInURL, set("objectRef.resource", "serviceaccounts"), set("objectRef.subresource", "token")),
		}, "shop/one Vanished Certain: Certain CREATE AuditLog /token by alice", ""},
		"changed, and deleted":        {nil, []map[string]any{logLine("update", "one", minute(4), unanswered), logLine("delete", "one", minute(5), unanswered)}, "shop/one Deleted Certain: Certain UPDATE AuditLog by alice Certain DELETE AuditLog by alice", ""},
		"deleted later":               {nil, []map[string]any{logLine("update", "one", minute(4), unanswered), logLine("delete", "one", minute(95))}, "shop/one Vanished Certain: Certain UPDATE AuditLog by alice", ""},
		"recreated after the opening": {[]Object{observed(object(minute(90)))}, []map[string]any{logLine("delete", "one", minute(5), unanswered)}, deletes, ""},
		"a collection":                {nil, []map[string]any{logLine("deletecollection", "", minute(5), unanswered)}, "shop/ Deleted Certain: Certain DELETE AuditLog by alice", ""},
		"the same line twice":         {nil, []map[string]any{logLine("delete", "one", minute(5), unanswered), logLine("delete", "one", minute(5), unanswered)}, deletes, ""},
		"an audit ID of an earlier request": {nil, []map[string]any{
			logLine("update", "two", minute(4), set("auditID", "chosen")), logLine("delete", "one", minute(5), unanswered, set("auditID", "chosen")),
		}, deletes, ""},
		"a deletion of another object at the same time": {nil, []map[string]any{
			logLine("delete", "one", minute(5), unanswered, set("auditID", "chosen")), logLine("delete", "two", minute(5), unanswered, set("auditID", "chosen")),
		}, deletes + "\nshop/two Deleted Certain: Certain DELETE AuditLog by alice", ""},
		"connections with one audit ID": {nil, []map[string]any{
			logLine("create", "one", minute(5), unanswered, set("objectRef.subresource", "exec"), set("auditID", "chosen")),
			logLine("create", "two", minute(6), unanswered, set("objectRef.subresource", "exec"), set("auditID", "chosen")),
		}, "shop/one Vanished Certain: Certain CONNECT AuditLog /exec by alice\nshop/two Vanished Certain: Certain CONNECT AuditLog /exec by alice", ""},
		"a generated name":         {[]Object{generated}, []map[string]any{logLine("create", "", minute(5), unanswered)}, "shop/one Exists Certain: Certain CREATE AuditLog by alice", ""},
		"a generated name, judged": {[]Object{generated}, []map[string]any{logLine("create", "", minute(5))}, "", ""},
		"a generated name of a deleted object": {nil, []map[string]any{logLine("create", "", minute(5), unanswered,
			set("responseObject", map[string]any{"metadata": map[string]any{"name": "one-x"}}))}, "shop/one-x Vanished Certain: Certain CREATE AuditLog by alice", ""},
		"a collection, and a conflict": {nil, []map[string]any{logLine("deletecollection", "", minute(5), unanswered, failed(409, ""))}, mayDeleteSome, ""},
		"a collection, and a denial":   {nil, []map[string]any{logLine("deletecollection", "", minute(5), unanswered, failed(403, denied))}, mayDeleteSome, ""},
		"a collection, and its time":   {nil, []map[string]any{logLine("deletecollection", "", minute(5), unanswered, failed(504, ""))}, mayDeleteSome, ""},
		"a dry run of a collection, and a conflict": {nil, []map[string]any{
			logLine("deletecollection", "", minute(5), unanswered, failed(409, ""), set("requestObject.dryRun", []string{"All"})),
		}, "", ""},
		"a collection without permission": {nil, []map[string]any{
			logLine("deletecollection", "", minute(5), unanswered, failed(403, ""), func(event map[string]any) {
				event["annotations"].(map[string]any)["authorization.k8s.io/decision"] = "forbid"
			}),
		}, "", ""},
		"deleted, and its time": {nil, []map[string]any{logLine("delete", "one", minute(5), unanswered, failed(504, ""))}, mayDelete, ""},
		"not deleted in time": {[]Object{existing}, []map[string]any{
			logLine("update", "one", minute(5)), logLine("delete", "one", minute(6), unanswered, failed(504, "")),
		}, "", ""},
		"a conflict of a deletion":  {nil, []map[string]any{logLine("delete", "one", minute(5), unanswered, failed(409, ""))}, "", ""},
		"changed, and its time":     {[]Object{existing}, []map[string]any{logLine("update", "one", minute(5), unanswered, failed(504, ""))}, "shop/one Exists Possible: Possible UPDATE AuditLog by alice", ""},
		"denied with code 500":      {nil, []map[string]any{logLine("create", "one", minute(5), unanswered, failed(500, denied))}, "", ""},
		"another webhook is closed": {nil, []map[string]any{logLine("create", "one", minute(5), unanswered, failed(500, `Internal error occurred: failed calling webhook "w.shop.io": timeout`))}, "", ""},
		"a pod answers a proxy with 404": {nil, []map[string]any{
			logLine("get", "one", minute(5), unanswered, failed(404, ""), set("objectRef.subresource", "proxy")),
		}, "shop/one Vanished Possible: Possible CONNECT AuditLog /proxy by alice", ""},
		"refused":                              {nil, []map[string]any{logLine("create", "one", minute(5), unanswered, set("responseStatus.code", 403))}, "", ""},
		"a dry run":                            {nil, []map[string]any{logLine("create", "one", minute(5), unanswered, dryRunInURL)}, "", ""},
		"another webhook":                      {nil, []map[string]any{logLine("update", "one", minute(5), set("annotations", map[string]any{"failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "w.shop.io"}))}, "", ""},
		"outside its scope":                    {nil, []map[string]any{logLine("update", "one", minute(5), unanswered, set("objectRef.resource", "events"))}, "", ""},
		"outside its selector":                 {nil, []map[string]any{logLine("update", "one", minute(5), unanswered, set("objectRef.namespace", "other"))}, "other/one Vanished Possible: Possible UPDATE AuditLog by alice", ""},
		"outside its selector, and not passed": {nil, []map[string]any{logLine("update", "one", minute(5), set("objectRef.namespace", "other"))}, "", ""},
		"before the opening":                   {nil, []map[string]any{logLine("update", "one", minute(-5), unanswered)}, "", ""},
		"received only":                        {nil, []map[string]any{logLine("update", "one", minute(5), unanswered, set("stage", "RequestReceived"))}, "", ""},
		"an impersonated user":                 {nil, []map[string]any{logLine("update", "one", minute(5), unanswered, set("impersonatedUser", map[string]any{"username": "bob"}))}, "shop/one Vanished Certain: Certain UPDATE AuditLog by bob", ""},
		"a connection, twice": {nil, []map[string]any{
			logLine("create", "one", minute(5), unanswered, set("objectRef.subresource", "exec"), set("stage", "ResponseStarted")),
			logLine("create", "one", minute(5), unanswered, set("objectRef.subresource", "exec")),
		}, "shop/one Vanished Certain: Certain CONNECT AuditLog /exec by alice", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := webhook(func(w *Webhook) { w.Declared.Rules = rule("", "v1", "configmaps", "*") })
			report := List(Facts{Webhooks: []Webhook{w}, Served: served(), Objects: test.objects, Log: logOf(t, test.events...)})
			installtest.Same(t, "entries", test.want, strings.Join(lists.Map(report.Entries, text), "\n"))
			if notes := strings.Join(report.Notes, "\n"); !strings.Contains(notes, test.note) || (test.note == "") != (notes == "") {
				t.Errorf("notes %q, want %q", notes, test.note)
			}
		})
	}
}

// API servers ignore metadata.namespace in the body of a cluster-scoped object, and the audit log has it as the namespace. Clients
// may write the path of a URL in several ways.
func TestNamespaceOfARequest(t *testing.T) {
	volumes := explain.Resource{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}, Kind: schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"},
	}
	known := served()
	known.Resources = append(known.Resources, volumes)
	w := webhook(func(w *Webhook) {
		w.Declared.Rules = append(rule("", "v1", "persistentvolumes", "*"), rule("", "v1", "configmaps", "*")...)
	})
	for name, test := range map[string]struct {
		resource, uri, namespace string
		want                     string
	}{
		"a namespace in the body": {"persistentvolumes", "/api/v1/persistentvolumes/one", "other", "/one Vanished Certain: Certain UPDATE AuditLog by alice"},
		"cluster-scoped":          {"persistentvolumes", "/api/v1/persistentvolumes/one", "", "/one Vanished Certain: Certain UPDATE AuditLog by alice"},
		"namespaced":              {"configmaps", "/api/v1/namespaces/shop/configmaps/one", "shop", "shop/one Vanished Certain: Certain UPDATE AuditLog by alice"},
		"encoded":                 {"configmaps", "/api/v1/%6eamespaces/shop/configmaps/one", "shop", "shop/one Vanished Certain: Certain UPDATE AuditLog by alice"},
	} {
		line := logLine("update", "one", minute(5), unanswered, set("objectRef.resource", test.resource), set("requestURI", test.uri), set("objectRef.namespace", test.namespace))
		report := List(Facts{Webhooks: []Webhook{w}, Served: known, Log: logOf(t, line)})
		installtest.Same(t, name, test.want, strings.Join(lists.Map(report.Entries, text), "\n"))
	}
}

// A log that ends too early explains what it has, and nothing else.
func TestLogThatIsTooShort(t *testing.T) {
	log := &Log{}
	for _, event := range []map[string]any{logLine("get", "first", minute(-60)), logLine("update", "two", minute(10))} {
		installtest.Must(t, log.Add(installtest.OrPanic(json.Marshal(event))))
	}
	two := object(minute(-30), entry("editor", minute(10)))
	two.SetName("two")
	report := List(Facts{Webhooks: []Webhook{webhook()}, Served: served(), Objects: []Object{observed(object(minute(-30), entry("editor", minute(90)))), observed(two)}, Log: log})
	installtest.Same(t, "entries", "shop/one Exists Possible: Possible UPDATE ManagedFields by editor", strings.Join(lists.Map(report.Entries, text), "\n"))
	installtest.Contains(t, strings.Join(report.Notes, "\n"), "the audit log does not cover it")
	installtest.Same(t, "interval", metav1.NewMicroTime(minute(10).Add(time.Second)).Time, report.AuditLog.Until.UTC())
}

// The lines of a log have no long pause in the opening: otherwise a file is missing, or the first line is of a request that began
// long before.
func TestLogWithAPause(t *testing.T) {
	const hidden = "shop/one Exists Possible: Possible UPDATE ManagedFields by editor"
	for name, test := range map[string]struct {
		lacks func(minute float64) bool // the lines without which the log is
		want  string
		note  string
	}{
		"complete":                  {func(float64) bool { return false }, "", ""},
		"a short pause":             {func(m float64) bool { return m > 10 && m < 11 }, "", ""},
		"a pause in the opening":    {func(m float64) bool { return m > 10 && m < 12 }, hidden, "the audit log has no line from 2026-03-01T12:10:10Z until 2026-03-01T12:12:00Z"},
		"a pause over the start":    {func(m float64) bool { return m > -10 && m < 2 }, hidden, "from 2026-03-01T11:50:10Z until 2026-03-01T12:02:00Z"},
		"a pause over the end":      {func(m float64) bool { return m > 58 && m < 70 }, hidden, "from 2026-03-01T12:58:10Z until 2026-03-01T13:10:00Z"},
		"a pause over the opening":  {func(m float64) bool { return m > -10 && m < 70 }, hidden, "from 2026-03-01T11:50:10Z until 2026-03-01T13:10:00Z"},
		"a pause before":            {func(m float64) bool { return m > -10 && m < -1 }, "", ""},
		"a pause after":             {func(m float64) bool { return m > 61 && m < 70 }, "", ""},
		"a watch that began before": {func(m float64) bool { return m < 2 }, hidden, "the audit log does not cover it"},
	} {
		t.Run(name, func(t *testing.T) {
			log := &Log{}
			watch := logLine("watch", "long", minute(-60), set("stageTimestamp", metav1.NewMicroTime(minute(90))))
			installtest.Must(t, log.Add(installtest.OrPanic(json.Marshal(watch))))
			for m := -60.0; m <= 120; m += 0.5 {
				if at := noon.Add(time.Duration(m * float64(time.Minute))); !test.lacks(m) {
					installtest.Must(t, log.Add(installtest.OrPanic(json.Marshal(logLine("get", "another", at)))))
				}
			}
			changed := observed(object(minute(-30), entry("editor", minute(90))))
			report := List(Facts{Webhooks: []Webhook{webhook()}, Served: served(), Objects: []Object{changed}, Log: log})
			installtest.Same(t, "entries", test.want, strings.Join(lists.Map(report.Entries, text), "\n"))
			installtest.Says(t, "notes", test.note, strings.Join(report.Notes, "\n"))
		})
	}
}

// It is not known whether an object exists if the objects of its resource could not be listed.
func TestUnreadResources(t *testing.T) {
	events := []map[string]any{logLine("update", "one", minute(4), unanswered), logLine("delete", "two", minute(5), unanswered)}
	const changed, two = "Certain: Certain UPDATE AuditLog by alice", "\nshop/two Deleted Certain: Certain DELETE AuditLog by alice"
	for name, test := range map[string]struct {
		group, resource string
		want, unread    string
	}{
		"this resource":    {"", "configmaps", "shop/one Unknown " + changed + two, "configmaps: its API server is lost"},
		"another resource": {"", "secrets", "shop/one Vanished " + changed + two, "secrets: its API server is lost"},
		"this group":       {"", "", "shop/one Unknown " + changed + two, "its API server is lost"},
		"another group":    {"apps", "", "shop/one Vanished " + changed + two, "its API server is lost"},
	} {
		lost := Unread{test.group, test.resource, "its API server is lost"}
		w := webhook(func(w *Webhook) { w.Declared.Rules = rule("", "v1", "configmaps", "*") })
		report := List(Facts{Webhooks: []Webhook{w}, Served: served(), Unread: []Unread{lost, lost}, Log: logOf(t, events...)})
		installtest.Same(t, name, test.want, strings.Join(lists.Map(report.Entries, text), "\n"))
		installtest.Same(t, name+": unread", []string{test.unread}, report.Unread)
	}
}

func TestUndiscovered(t *testing.T) {
	failed := map[schema.GroupVersion]string{{Group: "lost.io", Version: "v1"}: "503", {Group: "gone.io", Version: "v2"}: "timeout"}
	const lost, gone = "the resources of lost.io/v1 could not be read: 503", "the resources of gone.io/v2 could not be read: timeout"
	for name, test := range map[string]struct {
		group, version string
		want           []string
	}{
		"this group":      {"lost.io", "v1", []string{lost}},
		"another version": {"lost.io", "v2", []string{lost}},
		"another group":   {"apps", "v1", nil},
		"all groups":      {"*", "*", []string{gone, lost}},
	} {
		w := webhook(func(w *Webhook) { w.Declared.Rules = rule(test.group, test.version, "*", "*") })
		unregistered := webhook(func(w *Webhook) { w.Declared = nil })
		installtest.Same(t, name, test.want, unread(Undiscovered([]Webhook{unregistered, w, w}, failed)))
	}
}

// A mutating webhook gets no generated name. An open webhook is not called if a matchCondition fails, and the log does not show it.
func TestConditionsThatFail(t *testing.T) {
	generated := object(minute(5))
	generated.SetGenerateName("o")
	inGroup := set("user", map[string]any{"username": "alice", "groups": []string{"a"}})
	for name, test := range map[string]struct {
		kind      func(*Webhook)
		condition string
		want      string
	}{
		"fails":              {mutating, "request.name == 'one'", "shop/one Exists Possible: Possible CREATE AuditLog by alice"},
		"validating":         {func(*Webhook) {}, "request.name == 'one'", ""},
		"false for the user": {mutating, "request.name == 'one' && 'b' in request.userInfo.groups", ""},
		"decided":            {mutating, "'a' in request.userInfo.groups", ""},
	} {
		w := webhook(test.kind, onCondition(test.condition))
		report := List(Facts{Webhooks: []Webhook{w}, Served: served(), Objects: []Object{observed(generated)}, Log: logOf(t, logLine("create", "", minute(5), inGroup))})
		installtest.Same(t, name, test.want, strings.Join(lists.Map(report.Entries, text), "\n"))
	}
}

func TestLinesThatAreNoEvents(t *testing.T) {
	installtest.Error(t, "invalid character", (&Log{}).Add([]byte("I1128 no JSON")))
}

// A client deletes its Namespace after the opening and creates it again without the label, or removes the label.
func TestNamespaceOfThePast(t *testing.T) {
	named := func(labels map[string]string, created int) []corev1.Namespace {
		return []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: labels, CreationTimestamp: metav1.NewTime(minute(created))}}}
	}
	for name, test := range map[string]struct {
		namespaces []corev1.Namespace
		want       string
	}{
		"does not exist":       {nil, "Certain: Certain"},
		"created since":        {named(nil, 90), "Certain: Certain"},
		"has the label":        {named(map[string]string{"scope": "yes"}, -90), "Certain: Certain"},
		"without the label":    {named(nil, -90), "Possible: Possible"},
		"with another label":   {named(map[string]string{"scope": "no"}, -90), "Possible: Possible"},
		"created with a label": {named(map[string]string{"scope": "yes"}, 90), "Certain: Certain"},
	} {
		facts := Facts{Webhooks: []Webhook{webhook()}, Served: served(), Log: logOf(t, logLine("create", "one", minute(5), unanswered))}
		facts.Served.Namespaces = test.namespaces
		installtest.Same(t, name, "shop/one Vanished "+test.want+" CREATE AuditLog by alice", strings.Join(lists.Map(List(facts).Entries, text), "\n"))
	}
}

// The log has the name of a webhook only. A request belongs to another one of the name if that one selects it.
func TestWebhooksWithOneName(t *testing.T) {
	for name, test := range map[string]struct {
		selected map[string]string // by the other webhook
		resource string
		want     string
	}{
		"the other one selects it":       {map[string]string{"kubernetes.io/metadata.name": "other"}, "configmaps", ""},
		"the other one does not":         {map[string]string{"kubernetes.io/metadata.name": "third"}, "configmaps", "other/one Vanished Possible: Possible CREATE AuditLog by alice"},
		"the other one has other rules":  {nil, "events", "other/one Vanished Possible: Possible CREATE AuditLog by alice"},
		"the other one selects anything": {nil, "configmaps", ""},
	} {
		other := *webhook().Declared
		other.Rules, other.NamespaceSelector = rule("", "v1", test.resource, "*"), &metav1.LabelSelector{MatchLabels: test.selected}
		w := webhook(func(w *Webhook) { w.Namesakes = []admissionregistrationv1.ValidatingWebhook{other} })
		facts := Facts{Webhooks: []Webhook{w}, Served: served(), Log: logOf(t, logLine("create", "one", minute(5), unanswered, set("objectRef.namespace", "other")))}
		facts.Served.Namespaces[1].Labels = map[string]string{"kubernetes.io/metadata.name": "other"}
		installtest.Same(t, name, test.want, strings.Join(lists.Map(List(facts).Entries, text), "\n"))
	}
}

func TestNamesakes(t *testing.T) {
	named := func(name string) []admissionregistrationv1.ValidatingWebhook {
		return []admissionregistrationv1.ValidatingWebhook{{Name: name}}
	}
	configurations := Configurations{
		Validating: []admissionregistrationv1.ValidatingWebhookConfiguration{
			{ObjectMeta: metav1.ObjectMeta{Name: "v.shop.io-x"}, Webhooks: named("v.shop.io")},
			{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Webhooks: named("fail-open.v.shop.io")},
			{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Webhooks: named("w.shop.io")},
		},
		Mutating: []admissionregistrationv1.MutatingWebhookConfiguration{
			{ObjectMeta: metav1.ObjectMeta{Name: "v.shop.io-x"}, Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "v.shop.io"}}},
		},
	}
	installtest.Same(t, "of a validating webhook", 2, len(configurations.namesakes(webhook())))
	installtest.Same(t, "of a mutating webhook", 2, len(configurations.namesakes(webhook(mutating))))
}
