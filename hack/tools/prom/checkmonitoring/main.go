// Command checkmonitoring checks what promtool does not: that the dashboard is what Grafana
// understands, that its expressions are PromQL, and that the custom resources are what the
// Prometheus Operator understands. Fields that those would drop in silence are errors.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: checkmonitoring FOLDER")
		os.Exit(2)
	}
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(folder string) error {
	return errors.Join(
		resource(filepath.Join(folder, "servicemonitor.yaml"), &monitoringv1.ServiceMonitor{}),
		resource(filepath.Join(folder, "prometheusrule.yaml"), &monitoringv1.PrometheusRule{}),
		board(filepath.Join(folder, "dashboard.json")),
	)
}

func resource(file string, into any) error {
	content, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(content, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func board(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var d dashboard.Dashboard
	if err := errors.Join(d.UnmarshalJSONStrict(content), d.Validate()); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var raw any
	if err := json.Unmarshal(content, &raw); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	found := expressions(raw)
	if len(found) == 0 {
		return fmt.Errorf("%s: no expression found", file)
	}
	var problems []error
	for _, e := range found {
		if _, err := parser.NewParser(parser.Options{}).ParseExpr(substituted.Replace(e)); err != nil {
			problems = append(problems, fmt.Errorf("%s: %s: %w", file, e, err))
		}
	}
	return errors.Join(problems...)
}

// substituted does to variables what Grafana does.
var substituted = strings.NewReplacer("$__rate_interval", "5m", "$namespace", ".*")

func expressions(in any) []string {
	var found []string
	switch in := in.(type) {
	case map[string]any:
		for key, value := range in {
			if text, ok := value.(string); ok && key == "expr" {
				found = append(found, text)
				continue
			}
			found = append(found, expressions(value)...)
		}
	case []any:
		for _, value := range in {
			found = append(found, expressions(value)...)
		}
	}
	return found
}
