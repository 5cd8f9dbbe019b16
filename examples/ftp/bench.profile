# For `nest bench`: an anonymous user logs in and looks around. Transfers are left out, since each has a
# second connection, which nest bench does not make.
part user $2 anonymous
weight user 10
weight pass 20
weight pasv 0
weight epsv 0
weight port 0
weight eprt 0
weight retr 0
weight stor 0
weight appe 0
weight stou 0
weight list 0
weight nlst 0
weight mlsd 0
