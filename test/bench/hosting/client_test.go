package hosting

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// client is one kept-alive connection. It does little itself, so that the server is measured.
type client struct {
	conn    *tls.Conn
	reader  *bufio.Reader
	request []byte
}

func dial(b *testing.B, host, path string, roots *x509.CertPool, body []byte) *client {
	b.Helper()
	config := &tls.Config{RootCAs: roots, ServerName: host, NextProtos: []string{"http/1.1"}}
	dialer := &net.Dialer{Timeout: time.Second}
	for deadline := time.Now().Add(20 * time.Second); ; {
		conn, err := tls.DialWithDialer(dialer, "tcp", net.JoinHostPort(host, port), config)
		if err == nil {
			b.Cleanup(func() { conn.Close() })
			return &client{conn, bufio.NewReader(conn), request(host, path, body)}
		}
		if time.Now().After(deadline) {
			b.Fatal(err)
		}
	}
}

func request(host, path string, body []byte) []byte {
	var r bytes.Buffer
	fmt.Fprintf(&r, "POST %s?timeout=10s HTTP/1.1\r\nHost: %s:%s\r\n", path, host, port)
	fmt.Fprintf(&r, "User-Agent: kube-apiserver-admission\r\nContent-Length: %d\r\n", len(body))
	fmt.Fprint(&r, "Accept: application/json, */*\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n")
	r.Write(body)
	return r.Bytes()
}

func (c *client) call() ([]byte, error) {
	if _, err := c.conn.Write(c.request); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d: %s", response.StatusCode, answer)
	}
	return answer, nil
}
