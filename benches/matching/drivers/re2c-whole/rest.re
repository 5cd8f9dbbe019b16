    * { goto refused; }
