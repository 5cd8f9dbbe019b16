    * { goto refused; }
    $ { goto refused; }
