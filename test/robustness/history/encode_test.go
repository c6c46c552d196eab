package history

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestEncode(t *testing.T) {
	want := History{
		Clients: map[string]Role{"manager": Manager},
		Events: []Event{
			{At: time.Unix(1, 2).UTC(), Write: &Write{Client: "manager", Verb: "create", Object: Ref{Kind: "Secret", Namespace: "a", Name: "b", UID: "c"}, Revision: 4, After: Object{"data": "x"}}},
			{At: time.Unix(2, 0).UTC(), Call: &Call{APIServer: "a", Sent: time.Unix(1, 0).UTC(), Outcome: Failed, Error: "refused"}},
		},
	}
	var text bytes.Buffer
	if err := Encode(&text, want); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(text.String(), "\n"); lines != 3 {
		t.Errorf("it has %d lines:\n%s", lines, &text)
	}
	got, err := Decode(&text)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded: %+v, %v, want %+v", got, err, want)
	}
	if _, err := Decode(strings.NewReader("{}\n{\"at\":1}\n")); err == nil || !strings.Contains(err.Error(), "event 0") {
		t.Errorf("the error is %v", err)
	}
}
