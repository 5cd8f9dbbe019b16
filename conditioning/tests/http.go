// A server of Go's standard library, for tests: it answers every request with the address of its client.
package main

import (
	"fmt"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s\n", r.RemoteAddr)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
	os.Exit(1)
}
