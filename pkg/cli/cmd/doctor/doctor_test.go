package doctor

import (
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
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
		t.Run(name, func(t *testing.T) {
			findings := lists.Map(test.levels, func(level doctor.Level) doctor.Finding { return doctor.Finding{Level: level} })
			installtest.Same(t, "exit code", test.want, exitcode.Of(t.Context(), verdict(findings)))
		})
	}
}
