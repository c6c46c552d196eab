package page

import (
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/chart"
)

// validity shows how long certificates, and the CAs that registrations trust, are valid.
func validity(live []doctor.Webhook, current *managerv1alpha1.CertificateStatus, answers []doctor.Answer, colors palette, now time.Time) chart.Chart {
	var rows []chart.Row
	if current != nil && current.NotBefore != nil && current.NotAfter != nil {
		rows = append(rows, chart.Row{Name: "serving certificate", Bars: expired(renewed(*current, colors), now)})
	} else {
		rows = append(rows, presented(answers, colors, now)...)
	}
	for _, ca := range trustedCAs(live) {
		valid := chart.Bar{From: ca.NotBefore, To: ca.NotAfter, Text: "valid", Color: colors.of(fingerprintOf(ca))}
		rows = append(rows, chart.Row{Name: "trusted CA " + nameOf(ca), Bars: expired([]chart.Bar{valid}, now)})
	}
	return chart.ToScale(now, rows...)
}

// renewed is the validity of a certificate before and after the time at which it is due for renewal.
func renewed(c managerv1alpha1.CertificateStatus, colors palette) []chart.Bar {
	from, to := c.NotBefore.Time, c.NotAfter.Time
	valid := chart.Bar{From: from, To: to, Text: "valid", Color: colors.of(short(c.CAFingerprint))}
	if due := c.RenewalTime; due != nil && due.After(from) && due.Time.Before(to) {
		valid.To = due.Time
		return []chart.Bar{valid, {From: due.Time, To: to, Text: "due for renewal", Color: chart.Wait}}
	}
	return []chart.Bar{valid}
}

// expired adds the time after the last bar.
func expired(bars []chart.Bar, now time.Time) []chart.Bar {
	return append(bars, positive([]chart.Bar{{From: bars[len(bars)-1].To, To: now, Text: "expired", Color: chart.Bad}})...)
}

// presented has the certificates that endpoints present, each once.
func presented(answers []doctor.Answer, colors palette, now time.Time) (rows []chart.Row) {
	known := lists.Filter(answers, func(a doctor.Answer) bool { return a.Certificate != "" })
	for _, a := range lists.Unique(known, func(a doctor.Answer) string { return a.Certificate }) {
		if len(rows) == maxServing {
			break
		}
		valid := chart.Bar{From: a.NotBefore, To: a.NotAfter, Text: "valid, served by " + a.Endpoint, Color: colors.of(short(a.CA))}
		rows = append(rows, chart.Row{Name: "certificate " + short(a.Certificate), Bars: expired([]chart.Bar{valid}, now)})
	}
	return rows
}
