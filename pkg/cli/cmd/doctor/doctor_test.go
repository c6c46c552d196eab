package doctor

import (
	"os"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// The exit code is that of the worst finding, and what is not known is no all-clear.
func TestDoctorExitCodes(t *testing.T) {
	for name, test := range map[string]struct {
		levels []doctor.Level
		want   int
	}{
		"nothing found":                 {nil, 0},
		"a warning":                     {[]doctor.Level{doctor.Warning}, 0},
		"unknown":                       {[]doctor.Level{doctor.Unknown}, exitUnknown},
		"a warning, and unknown":        {[]doctor.Level{doctor.Warning, doctor.Unknown}, exitUnknown},
		"an error, and unknown":         {[]doctor.Level{doctor.Error, doctor.Warning, doctor.Unknown}, exitLocked},
		"unknown, and an error":         {[]doctor.Level{doctor.Unknown, doctor.Error}, exitLocked},
		"a level that no one has added": {[]doctor.Level{"Notice"}, exitUnknown},
	} {
		findings := lists.Map(test.levels, func(level doctor.Level) doctor.Finding { return doctor.Finding{Level: level} })
		installtest.Same(t, name+": exit code", test.want, exitcode.Of(t.Context(), verdict(findings)))
	}
}

// The sample of docs/admin/emergency.md is the output of the command.
func TestEmergencySample(t *testing.T) {
	service := types.NamespacedName{Namespace: "shop", Name: "shop-service"}
	rule := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}
	facts := doctor.Facts{
		Webhooks: []doctor.Webhook{{
			Kind: doctor.Validating, Object: "v.shop.io-4o136pcp12", Name: "v.shop.io", Fails: true,
			Service: service, Port: 443, Rules: []admissionregistrationv1.RuleWithOperations{rule},
		}},
		Services: map[types.NamespacedName]doctor.Service{service: {By: route.ByClusterIP, Ports: map[int32]int{443: 0}}},
	}
	var out strings.Builder
	printFindings(output.New(&out), doctor.Diagnose(facts, time.Now()), facts)
	finding, _, _ := strings.Cut(out.String(), "\n\n")
	page := installtest.OrPanic(os.ReadFile("../../../../docs/admin/emergency.md"))
	installtest.Contains(t, string(page), "```text\n"+finding+"\n```\n")
}
