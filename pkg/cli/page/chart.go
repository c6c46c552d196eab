package page

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

// Chart shows intervals of time, one row above the other.
type Chart struct {
	From, To time.Time
	// Now is marked.
	Now  time.Time
	Rows []Row
}

// Row is one line of a chart.
type Row struct {
	Name string
	Bars []Bar
}

// Bar is an interval in which something was the case.
type Bar struct {
	From, To time.Time
	Text     string
	// Color is the number of a color of the style sheet: equal texts of a row have one.
	Color int
}

// withoutTime is the same for two charts that differ in the present only.
func (c Chart) withoutTime() Chart {
	rows := slices.Clone(c.Rows)
	for i := range rows {
		rows[i].Bars = slices.Clone(rows[i].Bars)
		if last := len(rows[i].Bars) - 1; last >= 0 && rows[i].Bars[last].To.Equal(c.Now) {
			rows[i].Bars[last].To = time.Time{} // It lasts until now.
		}
	}
	return Chart{Rows: rows}
}

// Empty reports whether there is nothing to show.
func (c Chart) Empty() bool { return len(c.Rows) == 0 }

// add adds a row, and extends the interval of the chart.
func (c *Chart) add(name string, bars ...Bar) {
	for _, b := range bars {
		if c.From.IsZero() || b.From.Before(c.From) {
			c.From = b.From
		}
		if b.To.After(c.To) {
			c.To = b.To
		}
	}
	c.Rows = append(c.Rows, Row{name, bars})
}

// maxCAs is how many CAs of a caBundle are shown. A caBundle of 1 MiB can have thousands.
const maxCAs = 10

// validityChart shows how long the serving certificate, and the CAs that registrations trust, are valid.
func validityChart(live []doctor.Webhook, serving *managerv1alpha1.CertificateStatus, now time.Time) Chart {
	var c Chart
	if serving != nil && serving.NotBefore != nil && serving.NotAfter != nil {
		renewal := serving.NotAfter.Time
		bars := []Bar{}
		if serving.RenewalTime != nil && serving.RenewalTime.Time.Before(renewal) {
			renewal = serving.RenewalTime.Time
			bars = append(bars, Bar{renewal, serving.NotAfter.Time, "due for renewal", 1})
		}
		c.add("serving certificate", append([]Bar{{serving.NotBefore.Time, renewal, "valid", 0}}, bars...)...)
	}
	for _, ca := range trustedCAs(live) {
		c.add("trusted CA "+shortFingerprint(ca.Raw), Bar{ca.NotBefore, ca.NotAfter, "valid", 2})
	}
	if !c.Empty() {
		c.mark(now)
	}
	return c
}

func (c *Chart) mark(now time.Time) {
	c.Now = now
	if now.Before(c.From) {
		c.From = now
	}
	if now.After(c.To) {
		c.To = now
	}
}

func trustedCAs(live []doctor.Webhook) (all []*x509.Certificate) {
	for _, w := range live {
		for block, rest := pem.Decode(w.CABundle); block != nil && len(all) < maxCAs; block, rest = pem.Decode(rest) {
			ca, err := x509.ParseCertificate(block.Bytes)
			if err == nil && !slices.ContainsFunc(all, ca.Equal) {
				all = append(all, ca)
			}
		}
	}
	return all
}

// shortFingerprint is the start of the SHA-256 digest, as status.deployments.certificate.caFingerprint has it.
func shortFingerprint(der []byte) string {
	digest := sha256.Sum256(der)
	return hex.EncodeToString(digest[:4])
}

// The size of a drawn chart, in units of its view box.
const (
	chartWidth  = 900
	chartLabels = 190
	rowHeight   = 30
)

// Height is that of the drawing.
func (c Chart) Height() int { return rowHeight*len(c.Rows) + rowHeight }

// LineEnd is the lower end of the mark of the present.
func (c Chart) LineEnd() int { return rowHeight * len(c.Rows) }

// Width is that of the drawing.
func (c Chart) Width() int { return chartWidth }

// Y is the position of a row.
func (c Chart) Y(row int) int { return rowHeight*row + 4 }

// X is the position of a time.
func (c Chart) X(at time.Time) float64 {
	whole := max(c.To.Sub(c.From), time.Nanosecond)
	return chartLabels + float64(at.Sub(c.From))/float64(whole)*(chartWidth-chartLabels-8)
}

// Length is that of a bar, which is visible also if it is short.
func (c Chart) Length(b Bar) float64 { return max(c.X(b.To)-c.X(b.From), 2) }

// Mark is a labelled time at the lower edge. Anchor is the part of the label that is at the time, as in SVG.
type Mark struct {
	At           time.Time
	Text, Anchor string
}

// Marks are the labelled times: a few of equal distance.
func (c Chart) Marks() (all []Mark) {
	const intervals = 5
	for i := range intervals + 1 {
		at := c.From.Add(c.To.Sub(c.From) / intervals * time.Duration(i))
		all = append(all, Mark{at, c.label(at), "middle"})
	}
	all[0].Anchor, all[intervals].Anchor = "start", "end"
	return all
}

func (c Chart) label(at time.Time) string {
	switch whole := c.To.Sub(c.From); {
	case whole > 5*365*24*time.Hour:
		return at.UTC().Format("2006")
	case whole > 5*24*time.Hour:
		return at.UTC().Format(time.DateOnly)
	case whole > time.Hour:
		return at.UTC().Format("Jan 2 15:04")
	default:
		return at.UTC().Format(time.TimeOnly)
	}
}

// Summary describes the chart for readers who do not see it.
func (c Chart) Summary() []string {
	var all []string
	for _, row := range c.Rows {
		for _, b := range row.Bars {
			all = append(all, fmt.Sprintf("%s: %s from %s to %s", row.Name, b.Text, b.From.UTC().Format(time.RFC3339), b.To.UTC().Format(time.RFC3339)))
		}
	}
	return all
}
