package mutate
import ("testing";"os";"path/filepath";"fmt";"gpurun/cudart/sim/ptx";"strings")
func TestX(t *testing.T){
 total:=0
 for _, pat := range strings.Fields(os.Getenv("PAT")) {
 fs,_:=filepath.Glob(pat)
 for _,f:=range fs{
  b,_:=os.ReadFile(f)
  m,err:=ptx.Parse(f,b); if err!=nil{t.Fatal(err)}
  for _,e:=range m.Entries{
   ms,err:=All(f,b,e.Name); if err!=nil{t.Error(err);continue}
   total+=len(ms)
   n:=map[Class]int{}
   for _,x:=range ms{ n[x.Class]++; if os.Getenv("V")!=""{fmt.Println(x)}
     if _,err:=ptx.Parse("m",x.Text(b));err!=nil{t.Error(x,err)}}
   fmt.Println(filepath.Base(f),e.Name,len(ms),n)
  }
 }}
 fmt.Println(total)
}
