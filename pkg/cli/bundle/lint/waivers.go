package lint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/yamltext"
)

// Waiver accepts a finding, with the reason.
type Waiver struct {
	Code string `json:"code"`
	// Path limits the waiver to the fields that begin with it; empty is all of them.
	Path string `json:"path,omitempty"`
	File string `json:"file,omitempty"`
	// What limits the waiver to findings with this text: a check of OLM's library finds many things.
	What   string `json:"what,omitempty"`
	Reason string `json:"reason"`
	file   string // where the waiver stands
}

const unusedWaiver = "unused-waiver"

var waiverChecks = []Check{{
	Code: unusedWaiver, Level: Warning, Basis: Policy,
	Explain: `The waiver matches no finding: the mistake was fixed, or it is now in
another field or file. Remove the waiver, so that the finding is reported if the mistake returns.`,
	find: func(*subject) {}, // it is about the other findings: see waive
}}

// ReadWaivers reads a file of waivers. A file that does not exist holds none.
func ReadWaivers(file string) ([]Waiver, error) {
	text, err := readSmall(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := yamltext.Check(text); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var content struct {
		Waivers []Waiver `json:"waivers"`
	}
	if err := yaml.UnmarshalStrict(text, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if n := len(content.Waivers); n > mostWaivers {
		return nil, fmt.Errorf("%s has %d waivers, and may have %d: waive a check of all fields at once", file, n, mostWaivers)
	}
	for i, w := range content.Waivers {
		if _, known := Find(w.Code); !known {
			return nil, fmt.Errorf("%s: waivers[%d].code is %q, which is no code of a finding: bundle explain lists them", file, i, w.Code)
		}
		if strings.TrimSpace(w.Reason) == "" {
			return nil, fmt.Errorf("%s: waivers[%d] has no reason: say why %s is no mistake here", file, i, w.Code)
		}
		content.Waivers[i].file = file
	}
	return content.Waivers, nil
}

const (
	// maxWaivers is how many bytes a file of waivers may have.
	maxWaivers = 1 << 20
	// mostWaivers is how many waivers a file may have. Each is compared with each finding.
	mostWaivers = 1000
)

func readSmall(name string) ([]byte, error) {
	file, err := os.Open(name) //nolint:gosec,forbidigo // G304: the user names the file, such as /dev/null. The command checks a file that it finds next to a bundle.
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxWaivers+1))
	if len(text) > maxWaivers {
		return nil, fmt.Errorf("%s has more than %d MiB", name, maxWaivers>>20)
	}
	return text, err
}

func waive(findings []Finding, waivers []Waiver) []Finding {
	for i, w := range waivers {
		used := false
		for j := range findings {
			if f := &findings[j]; w.covers(*f) {
				f.Waived, used = w.Reason, true
			}
		}
		if !used {
			findings = append(findings, Finding{
				Level: Warning, Code: unusedWaiver, Basis: Policy, File: w.file, Path: fmt.Sprintf("waivers[%d]", i),
				What: fmt.Sprintf("the waiver of %s matches no finding", w.Code), Remedy: "remove it",
			})
		}
	}
	return findings
}

func (w Waiver) covers(f Finding) bool {
	return w.Code == f.Code && strings.HasPrefix(f.Path, w.Path) && (w.File == "" || w.File == f.File) && strings.Contains(f.What, w.What)
}
