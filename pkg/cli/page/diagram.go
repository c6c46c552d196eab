package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/chart"
)

// Diagram is the map: webhooks at the left, resources at the right, and a line for each interception.
type Diagram struct {
	Webhooks  []Node
	Resources []Node
	Lines     []Line
	// Omitted is how many lines are not drawn.
	Omitted int
}

// Node is a webhook or a resource at a vertical position.
type Node struct {
	Y       int
	Text    string
	Webhook Webhook // of a webhook
}

// Line joins a webhook and a resource.
type Line struct {
	From, To int // vertical positions
	Resource int // its number from above
	Webhook  Webhook
}

// The size of the diagram, in units of its view box.
const (
	diagramWidth   = 1000
	webhookEnd     = 420 // where lines begin
	resourceBegin  = 640
	nodeHeight     = 20
	maxDrawnText   = 44
	maxDrawnLines  = 20_000
	diagramPadding = 10
)

// Diagram draws all webhooks.
func (p Page) Diagram() Diagram {
	var d Diagram
	rows := map[string][]int{} // of webhooks, by resource
	for i, w := range p.Webhooks {
		d.Webhooks = append(d.Webhooks, Node{yOf(i), chart.Clipped(w.Name, maxDrawnText), w})
		for _, in := range w.Intercepted {
			rows[in.Resource] = append(rows[in.Resource], i)
		}
	}
	numbers := map[string]int{}
	for i, resource := range byMeanRow(rows) {
		numbers[resource] = i
		d.Resources = append(d.Resources, Node{Y: yOf(i), Text: chart.Clipped(resource, maxDrawnText)})
	}
	for i, w := range p.Webhooks {
		for _, in := range w.Intercepted {
			if len(d.Lines) == maxDrawnLines {
				d.Omitted++
				continue
			}
			d.Lines = append(d.Lines, Line{yOf(i), yOf(numbers[in.Resource]), numbers[in.Resource], w})
		}
	}
	return d
}

func yOf(i int) int { return diagramPadding + nodeHeight*i + nodeHeight/2 }

// byMeanRow sorts resources so that few lines cross.
func byMeanRow(rows map[string][]int) []string {
	mean := func(resource string) float64 {
		sum := 0
		for _, row := range rows[resource] {
			sum += row
		}
		return float64(sum) / float64(len(rows[resource]))
	}
	return slices.SortedFunc(maps.Keys(rows), func(a, b string) int { return cmp.Or(cmp.Compare(mean(a), mean(b)), strings.Compare(a, b)) })
}

// Width is that of the drawing.
func (d Diagram) Width() int { return diagramWidth }

// Height is that of the drawing.
func (d Diagram) Height() int {
	return 2*diagramPadding + nodeHeight*max(len(d.Webhooks), len(d.Resources))
}

// WebhookX is where the names of webhooks end.
func (d Diagram) WebhookX() int { return webhookEnd - 8 }

// ResourceX is where the names of resources begin.
func (d Diagram) ResourceX() int { return resourceBegin + 8 }

// Path is the drawing of a line.
func (l Line) Path() string {
	middle := (webhookEnd + resourceBegin) / 2
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", webhookEnd, l.From, middle, l.From, middle, l.To, resourceBegin, l.To)
}
